/** Settings that cannot work. The message names every field that is wrong. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
}
