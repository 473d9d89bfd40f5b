import { copyFile, mkdir, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Terminal } from '../../../terminal/terminal.ts';
import { type ConfigFile, formatConfigFile } from '../config-file.ts';
import { writeOutput } from '../files/output-file.ts';
import { writeKeyPair } from '../key-pair.ts';
import { pathOf, Sources } from '../sources.ts';
import { type Answers, exists, type OldAnswers, type PlannedKey } from './questions.ts';

/** The configuration file as it is before the questions. */
export interface OldSettings {
  readonly config: ConfigFile;
  readonly path: string;
  /** Everything except the address, which may be wrong and is asked for. */
  readonly sources: Sources;
  readonly answers: OldAnswers;
  /** Absolute. */
  readonly keyFiles: readonly string[];
}

export function oldSettings(terminal: Terminal, path: string, config: ConfigFile): OldSettings {
  const sources = new Sources(terminal, path, { ...config, url: undefined });
  const absolute = (name: 'visa_file' | 'password_file') => {
    const found = sources.configured(name);
    return found && pathOf(found);
  };
  const keyFiles = (config.key_files ?? []).map((file) => pathOf(sources.inConfig('key_files', file)));
  const answers = {
    // An address with a password in it must not be shown.
    url: config.url?.includes('@') ? undefined : config.url,
    visaFile: absolute('visa_file'),
    username: config.username,
    passwordFile: absolute('password_file'),
    keyFile: keyFiles[0],
  };
  return { config, path, sources, answers, keyFiles };
}

/** Paths of other keys whose files are gone. In the configuration, one would stop every command that decrypts. */
export async function lostKeysOf({ keyFiles }: OldSettings, { keyFile }: Answers): Promise<readonly string[]> {
  if (keyFile === undefined) return [];
  const found = await Promise.all(keyFiles.map(exists));
  return keyFiles.filter((path, index) => path !== keyFile && !found[index]);
}

/**
 * The configuration with the answers. An unchanged path keeps its form. The answered key comes first; existing older ones are
 * kept, because older files were made for them.
 * @param options settings without a question
 */
export function changedConfig(
  old: OldSettings,
  { url, visaFile, username, password, keyFile }: Answers,
  options: Pick<UnaskedOptions, 'passphraseFile' | 'ca' | 'insecureHttp'> & { readonly folder: string },
  lostKeys: readonly string[],
): ConfigFile {
  const { config, answers, keyFiles } = old;
  const { key_files: keys = [] } = config;
  const { passphraseFile, ca, insecureHttp, folder } = options;
  const passwordPath = password && (password.file ?? passwordFile(old.path));
  const fromHere = (path: string | undefined) => path && resolve(folder, path);
  const otherKeys = keys.filter((_, index) => ![keyFile, ...lostKeys].includes(keyFiles[index] ?? ''));
  return {
    ...config,
    url,
    visa_file: visaFile === answers.visaFile ? config.visa_file : visaFile,
    username,
    password_file: passwordPath === answers.passwordFile ? config.password_file : passwordPath,
    key_files: keyFile === undefined ? config.key_files : [keys[keyFiles.indexOf(keyFile)] ?? keyFile, ...otherKeys],
    passphrase_file: fromHere(passphraseFile) ?? config.passphrase_file,
    ca_file: fromHere(ca) ?? config.ca_file,
    insecure_http: insecureHttp ?? config.insecure_http,
  };
}

/** Options of `setup` that answer no question. */
export interface UnaskedOptions {
  readonly passphraseFile?: string;
  readonly ca?: string;
  readonly insecureHttp?: boolean;
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
 * Writes configuration, password and keys, readable by the owner alone. After an error the old configuration is unchanged and
 * no key was made.
 * @param stored.isReplaced whether the configuration file exists; it is kept as `.bak`
 * @param stored.password a typed one, for the file {@link passwordFile}
 */
export async function store(stored: {
  readonly path: string;
  readonly config: ConfigFile;
  readonly isReplaced: boolean;
  readonly password: string | undefined;
  readonly newKey: PlannedKey | undefined;
  readonly terminal: Terminal;
}): Promise<void> {
  const { path, config, isReplaced, password, newKey } = stored;
  stored.terminal.signal.throwIfAborted();
  // From here on no interrupt is obeyed: it would leave half of the settings, and the rest takes milliseconds.
  const terminal = { ...stored.terminal, signal: new AbortController().signal };
  const secret = { terminal, force: true, mode: 0o600 };
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  let hasKeys = false;
  try {
    await writeOutput({ ...secret, name: path }, async (sink) => {
      await sink.write([Buffer.from(formatConfigFile(config))]);
      // A full disk is noticed before another file gets its name.
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
