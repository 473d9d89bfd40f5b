import { copyFile, mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Terminal } from '../../terminal/terminal.ts';
import { type ConfigFile, formatConfigFile } from '../config-file.ts';
import { writeOutput } from '../files/output-file.ts';
import { writeKeyPair } from '../key-pair.ts';
import type { PlannedKey } from './answers.ts';

/** What is written at the end of the questions. */
export interface Stored {
  /** Of the configuration file. */
  readonly path: string;
  readonly config: ConfigFile;
  /** Whether the configuration file exists; then it is kept as `.bak`. */
  readonly isReplaced: boolean;
  /** A typed password, for the file {@link passwordFile}. */
  readonly password: string | undefined;
  readonly newKey: PlannedKey | undefined;
  readonly terminal: Terminal;
}

/** Where a typed password is kept. */
export function passwordFile(configFile: string): string {
  return join(dirname(configFile), 'password');
}

/** The old configuration file, after {@link store}. */
export function backupOf(configFile: string): string {
  return `${configFile}.bak`;
}

/**
 * Writes configuration, password and keys. Only the owner can read them. After an error, the configuration is the old one,
 * and no key was made.
 */
export async function store({ path, config, isReplaced, password, newKey, ...rest }: Stored): Promise<void> {
  rest.terminal.signal.throwIfAborted();
  // From here on it takes milliseconds. An interrupt between two files would leave half of the settings.
  const terminal = { ...rest.terminal, signal: new AbortController().signal };
  const secret = { terminal, force: true, mode: 0o600 };
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  let hasKeys = false;
  try {
    await writeOutput({ ...secret, name: path }, async (sink) => {
      await sink.write([Buffer.from(formatConfigFile(config))]);
      // A full disk is noticed before another file has got its name.
      await sink.handle?.datasync();
      if (isReplaced) await copyFile(path, backupOf(path));
      if (newKey) {
        await writeKeyPair({ ...newKey, terminal, passphrase: async () => newKey.passphrase });
        hasKeys = true;
      }
      if (password !== undefined) {
        const name = passwordFile(path);
        await writeOutput({ ...secret, name }, (passwordSink) => passwordSink.write([Buffer.from(`${password}\n`)]));
      }
    });
  } catch (error) {
    if (newKey && hasKeys)
      await Promise.all([newKey.privateKey, newKey.publicKey].map((file) => rm(file, { force: true })));
    throw error;
  }
}
