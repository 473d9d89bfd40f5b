import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { UsageError, usageError } from '../../terminal/errors.ts';
import { printable } from '../../terminal/output.ts';
import { askSecret } from '../../terminal/prompts.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { type ConfigFile, readConfigFile } from './config-file.ts';
import { checkedVisa, readSecretFile, refuseToken, type VisaChoice } from './secrets.ts';

/** Settings that are options of the command line. */
export interface SettingOptions {
  readonly config?: string | undefined;
  readonly url?: string | undefined;
  readonly visa?: string | undefined;
  /** That the command is about: a visa for it is chosen. */
  readonly dataset?: string | undefined;
  readonly username?: string | undefined;
  readonly passwordFile?: string | undefined;
  readonly key?: readonly string[] | undefined;
  readonly passphraseFile?: string | undefined;
  readonly ca?: string | undefined;
  readonly insecureHttp?: boolean | undefined;
}

/**
 * The user's settings: from options, else the environment, else the configuration file. Secrets are read when needed. Errors
 * name a setting's source and never its value.
 */
export type Settings = Readonly<Awaited<ReturnType<typeof readSettings>>>;

/**
 * Variables of the environment, by the setting of the configuration file that they override; the first that is set wins. Where
 * the setting names a file, those that do not end in `_FILE` hold the secret itself.
 */
export const variables = {
  url: ['DATA_OUT_URL', 'LOCAL_EGA_INSTANCE_URL'],
  visa_file: ['DATA_OUT_VISA', 'ELIXIR_AAI_TOKEN', 'DATA_OUT_VISA_FILE'],
  username: ['DATA_OUT_USERNAME', 'CENTRAL_EGA_USERNAME'],
  password_file: ['DATA_OUT_PASSWORD', 'CENTRAL_EGA_PASSWORD', 'DATA_OUT_PASSWORD_FILE'],
  key_files: ['DATA_OUT_KEY_FILE'],
  passphrase_file: ['DATA_OUT_PASSPHRASE', 'C4GH_PASSPHRASE'],
  ca_file: ['DATA_OUT_CA_FILE'],
} as const satisfies Partial<Record<keyof ConfigFile, readonly string[]>>;

/** The same for an administrator, whose credentials are in no configuration file. */
export const administratorVariables = {
  username: ['DATA_OUT_ADMIN_USERNAME'],
  password_file: ['DATA_OUT_ADMIN_PASSWORD', 'DATA_OUT_ADMIN_PASSWORD_FILE'],
} as const;

/** A setting, and where it was found. */
interface Found {
  /** Its name for the user, in errors: `--url`, `DATA_OUT_URL`, `/home/…/config.toml: url`. */
  readonly source: string;
  readonly value: string;
  /** Folder of relative paths. */
  readonly folder: string;
  /** Of a secret: whether `value` is the name of its file. */
  readonly isFile: boolean;
}

/** The configuration file. @param named by the user; default: `DATA_OUT_CONFIG`, else the file in the usual place */
export function configPath(
  { env, folder }: Pick<Terminal, 'env' | 'folder'>,
  named: string | undefined,
): { readonly path: string; readonly isNamed: boolean } {
  const name = named ?? (env.DATA_OUT_CONFIG || undefined);
  if (name !== undefined) return { path: resolve(folder, name), isNamed: true };
  const base = env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config');
  return { path: join(base, 'data-out', 'config.toml'), isNamed: false };
}

/** Reads the settings. @throws UsageError that names the wrong option, variable or file */
export async function readSettings(options: SettingOptions, terminal: Terminal) {
  // A file that the user names must exist; the default one need not.
  const { path, isNamed } = configPath(terminal, options.config);
  const config = await readConfigFile(path, isNamed);
  const find = finder(terminal, { path, config });
  const url = find('--url', options.url, variables.url, 'url');
  const passportFile = join(dirname(path), 'passport.json');
  const signIn = { source: 'your sign-in', value: passportFile, folder: '', isFile: true };
  const set = find('--visa', options.visa, variables.visa_file, 'visa_file');
  const visa = set ?? (existsSync(passportFile) ? signIn : undefined);
  const username = find('--username', options.username, variables.username, 'username');
  const password = find('--password-file', options.passwordFile, variables.password_file, 'password_file');
  const passphrase = find('--passphrase-file', options.passphraseFile, variables.passphrase_file, 'passphrase_file');
  const ca = find('--ca', options.ca, variables.ca_file, 'ca_file');
  const keyOfVariable = find('--key', undefined, variables.key_files);
  const variableKeys = keyOfVariable ? [pathOf(keyOfVariable)] : [];
  const configuredKeys = (config.key_files ?? []).map((value) => pathOf({ value, folder: dirname(path) }));
  const givenKeys = options.key?.map((file) => resolve(terminal.folder, file));
  const chosenVisa = (source: string, value: string, choice?: VisaChoice) =>
    checkedVisa(source, value, { dataset: options.dataset, ...choice });
  return {
    /** Base URL of the delivery API. */
    proxyUrl: url && serviceUrl(url.source, url.value),
    /** The visa or passport. A file is read each time, because visas are renewed. */
    visa: secretOf(visa, chosenVisa),
    /** What sets it, for the user. */
    visaSource: visa?.source,
    /** The file that the visa comes from, absolute. Without a setting it is the passport of a sign-in, if there was one. */
    visaFile: visa?.isFile ? pathOf(visa) : undefined,
    /** What a sign-in stores, as `{"ga4gh_passport_v1":[…]}`. */
    passportFile,
    /** Credentials of HTTP Basic. A password without a setting is asked for once. */
    basic: basicOf(username, password, terminal),
    /** Private key files, absolute. */
    keyFiles: givenKeys ?? (keyOfVariable ? variableKeys : configuredKeys),
    /** The user's keys: all key files of options, environment and configuration. */
    ownKeyFiles: [...new Set([...(givenKeys ?? []), ...variableKeys, ...configuredKeys])],
    /** Where the pinned receipt keys are, absolute. */
    receiptKeysFile: join(dirname(path), 'receipt-keys.json'),
    /** Passphrase of the key files; `undefined`: a person is asked. */
    passphrase: secretOf(passphrase, asItIs),
    /** Certificate authorities to trust besides the usual ones: PEM, absolute path. */
    caFile: ca && pathOf(ca),
    /** Whether http:// is allowed to hosts other than this one. */
    insecureHttp: options.insecureHttp ?? config.insecure_http ?? false,
  };
}

/** The variables that count as set. An empty one counts for a passphrase alone, which is then empty, as in an empty file. */
export function variablesSet(names: readonly string[], env: Terminal['env'], key: keyof ConfigFile | undefined) {
  return names.filter((name) => (key === 'passphrase_file' ? env[name] !== undefined : env[name]));
}

/** Finds settings: an option, else the first variable that is set, else the configuration file. */
export function finder(
  { env, folder }: Pick<Terminal, 'env' | 'folder'>,
  file?: { readonly path: string; readonly config: ConfigFile },
) {
  return (
    flag: string,
    given: string | undefined,
    names: readonly string[],
    key?: keyof ConfigFile,
  ): Found | undefined => {
    if (given !== undefined) return { source: flag, value: given, folder, isFile: true };
    const [source] = variablesSet(names, env, key);
    if (source !== undefined) return { source, value: env[source] ?? '', folder, isFile: source.endsWith('_FILE') };
    const value = key && file?.config[key];
    if (file === undefined || typeof value !== 'string') return undefined;
    return { source: `${file.path}: ${key}`, value, folder: dirname(file.path), isFile: true };
  };
}

/** The path that a setting names. `~` is expanded in configuration files and answers, which no shell has read. */
export function pathOf({ value, folder }: Pick<Found, 'value' | 'folder'>): string {
  return /^~[/\\]/.test(value) ? join(homedir(), value.slice(2)) : resolve(folder, value);
}

/** A secret. Its file is read each time. @param check throws an error that names the source and never the value */
export function secretOf<Secret, Rest extends unknown[] = []>(
  found: Found | undefined,
  check: (source: string, value: string, ...rest: Rest) => Secret | Promise<Secret>,
): ((...rest: Rest) => Promise<Secret>) | undefined {
  if (found === undefined) return undefined;
  const { source, value, isFile } = found;
  if (!isFile) return async (...rest) => check(source, value, ...rest);
  refuseToken(source, value);
  return async (...rest) => check(source, await readSecretFile(source, pathOf(found)), ...rest);
}

function asItIs(_source: string, value: string): string {
  return value;
}

/** How the user renews the visa. */
export function visaRemedy({ visaFile, passportFile }: Pick<Settings, 'visaFile' | 'passportFile'>): string {
  if (visaFile === passportFile) return 'Run data-out login.';
  return 'Get a new one where you got this one, and save it under the same name.';
}

/** The address of a service. @throws UsageError that names `source` */
export function serviceUrl(source: string, value: string): URL {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.host === '') {
    throw usageError(source, 'expected the address of the service, as in https://data-out.example.org/v1/');
  }
  if (url.username !== '' || url.password !== '') {
    throw usageError(source, 'an address must not contain a user name or password: addresses end up in logs');
  }
  if (url.search !== '' || url.hash !== '') throw usageError(source, 'expected an address without ? and #');
  return url;
}

/** Credentials of HTTP Basic; `undefined` without a user name. A password that is not set is asked for, once. */
export function basicOf(username: Found | undefined, password: Found | undefined, terminal: Terminal) {
  if (username === undefined) {
    if (password === undefined) return undefined;
    const remedy = 'Give it with --username or DATA_OUT_USERNAME.';
    return () => Promise.reject(new UsageError('there is a password, but no user name', { remedy }));
  }
  const name = checkedUsername(username.source, username.value);
  let asked: Promise<string> | undefined;
  const ask = () => {
    asked ??= askSecret(terminal, `Password of ${printable(name)}: `, 'Give it with --password-file FILE.');
    return asked;
  };
  const read = secretOf(password, asItIs) ?? ask;
  return async () => ({ username: name, password: await read() });
}

/** A user name as HTTP Basic takes it (RFC 7617 § 2). @throws UsageError that names `source` */
export function checkedUsername(source: string, name: string): string {
  if (!/[:\p{Cc}]/u.test(name)) return name;
  throw usageError(source, 'a user name cannot contain a colon or a control character (RFC 7617)');
}
