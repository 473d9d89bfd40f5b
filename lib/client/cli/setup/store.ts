import { copyFile, mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Terminal } from '../../../terminal/terminal.ts';
import { exists } from '../../api/download/disk/local-disk.ts';
import { type ConfigFile, formatConfigFile } from '../config-file.ts';
import { writeOutput } from '../files/output-file.ts';
import { writeKeyPair } from '../key-pair.ts';
import type { Answers } from './answers.ts';

/** Where a typed password is kept. */
export function passwordFile(configFile: string): string {
  return join(dirname(configFile), 'password');
}

/**
 * Writes configuration, password and keys, readable by the owner alone. After an error the old configuration is unchanged, and
 * no key was made. The old one is kept as `.bak`.
 * @param stored.replacesPassword whether {@link passwordFile} is the user's own; otherwise an existing one is an error
 */
export async function store(stored: {
  readonly path: string;
  readonly config: ConfigFile;
  readonly answers: Pick<Answers, 'typedPassword' | 'newKey'>;
  readonly replacesPassword: boolean;
  readonly terminal: Terminal;
}): Promise<void> {
  const { path, config, answers, replacesPassword } = stored;
  const { typedPassword, newKey } = answers;
  stored.terminal.signal.throwIfAborted();
  // From here on no interrupt is obeyed: it would leave half of the settings, and the rest takes milliseconds.
  const terminal = { ...stored.terminal, signal: new AbortController().signal };
  const write = (name: string, text: string, force: boolean, more = async () => {}) =>
    writeOutput({ name, terminal, force, mode: 0o600 }, async (sink) => {
      await sink.write([Buffer.from(text)]);
      // A full disk is noticed before another file gets its name.
      await sink.handle?.datasync();
      await more();
    });
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await write(path, formatConfigFile(config), true, async () => {
    if (await exists(path)) await copyFile(path, `${path}.bak`);
    if (newKey) await writeKeyPair({ ...newKey, terminal, passphrase: async () => newKey.passphrase });
    if (typedPassword === undefined) return;
    await write(passwordFile(path), `${typedPassword}\n`, replacesPassword).catch(async (error: unknown) => {
      for (const file of newKey ? [newKey.privateKey, newKey.publicKey] : []) await rm(file, { force: true });
      throw error;
    });
  });
}
