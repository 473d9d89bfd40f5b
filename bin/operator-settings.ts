import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { trustedIssuersFile } from '../lib/contract/environment.ts';
import { operatorFiles } from '../lib/contract/synth.ts';
import { SettingsError } from '../lib/infra/check-settings.ts';
import type { Settings } from '../lib/infra/settings.ts';
import { settings as defaults } from './settings.ts';

const checkout = join(import.meta.dirname, '..');

/**
 * Read the operator's files: what a checkout deploys.
 * @param root folder that has them. @default - this checkout
 * @returns the defaults, with the operator's fields over them; the trust list, relative to the root; and the operator's files
 * that do not exist: the defaults are in their place
 * @throws SettingsError in one line when the file of settings cannot be read
 */
export async function operatorSettings(root = checkout) {
  const missing = Object.values(operatorFiles).filter((file) => !existsSync(join(root, file)));
  const own = missing.includes(operatorFiles.settings) ? {} : await ownSettings(join(root, operatorFiles.settings));
  const hasIssuers = !missing.includes(operatorFiles.trustedIssuers);
  const trustedIssuers = hasIssuers ? operatorFiles.trustedIssuers : trustedIssuersFile;
  const settings: Settings = { ...defaults, ...own };
  return { settings, trustedIssuers, missing };
}

/** The same for a command: a mistake in the settings ends the process with one line on standard error. */
export async function operatorSettingsOrExit() {
  return await operatorSettings().catch((error: unknown) => {
    if (!(error instanceof SettingsError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  });
}

async function ownSettings(path: string): Promise<Partial<Settings>> {
  const { settings } = await import(pathToFileURL(path).href).catch((error: Error) => {
    // Node names the line in the stack alone.
    const line = error.stack?.split(`${path}:`)[1]?.match(/^\d+/)?.[0];
    const [problem] = error.message.split('\n');
    const message = `${operatorFiles.settings}${line === undefined ? '' : `:${line}`}: ${problem}`;
    throw new SettingsError(message, { cause: error });
  });
  if (typeof settings === 'object' && settings !== null) return settings;
  throw new SettingsError(`${operatorFiles.settings}: expected an export const settings, an object with fields`);
}
