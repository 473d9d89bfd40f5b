import { resolve } from 'node:path';
import { UsageError, usageError } from '../../terminal/errors.ts';
import { printable } from '../../terminal/output.ts';
import { askSecret } from '../../terminal/prompts.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import type { ConfigFile } from './config-file.ts';
import { checkedVisa } from './secrets.ts';
import { type Found, pathOf, Sources, secretFile, secretOf } from './sources.ts';

/** Options of every command. */
export interface GlobalOptions {
  readonly config?: string;
}

/** Options of the commands that talk to a service; see `withServiceOptions`. */
export interface ServiceOptions {
  readonly url?: string | undefined;
  readonly visa?: string | undefined;
  readonly username?: string | undefined;
  readonly passwordFile?: string | undefined;
  readonly ca?: string | undefined;
  readonly insecureHttp?: boolean | undefined;
}

/** Options of the commands that open something with a key of the user; see `withKeyOptions`. */
export interface KeyOptions {
  readonly key?: readonly string[] | undefined;
  readonly passphraseFile?: string | undefined;
}

/**
 * The user's settings: from options, else the environment, else the configuration file. Secrets are read when needed. Errors
 * name a setting's source and never its value.
 */
export interface Settings {
  /** Base URL of the proxy API. */
  readonly proxyUrl: URL | undefined;
  /** The visa or passport. A file is read each time, because visas are renewed. */
  readonly visa: (() => Promise<string>) | undefined;
  /** The file that the visa comes from, absolute. */
  readonly visaFile: string | undefined;
  /** Credentials of HTTP Basic. A password without a setting is asked for once. */
  readonly basic: (() => Promise<{ readonly username: string; readonly password: string }>) | undefined;
  /** Private key files, absolute. */
  readonly keyFiles: readonly string[];
  /** The user's keys: all key files of options, environment and configuration. */
  readonly ownKeyFiles: readonly string[];
  /** Where the pinned receipt keys are, absolute. */
  readonly receiptKeysFile: string;
  /** Passphrase of the key files; `undefined`: a person is asked. */
  readonly passphrase: (() => Promise<string>) | undefined;
  /** Certificate authorities to trust besides the usual ones: PEM, absolute path. */
  readonly caFile: string | undefined;
  /** Whether http:// is allowed to hosts other than this one. */
  readonly insecureHttp: boolean;
}

/**
 * Variables of the environment, by the setting of the configuration file that they override. Where the setting names a file,
 * those that do not end in `_FILE` hold the secret itself.
 */
export const variables = {
  url: ['DATA_OUT_URL', 'LOCAL_EGA_INSTANCE_URL'],
  visa_file: ['DATA_OUT_VISA_FILE', 'DATA_OUT_VISA', 'ELIXIR_AAI_TOKEN'],
  username: ['DATA_OUT_USERNAME', 'CENTRAL_EGA_USERNAME'],
  password_file: ['DATA_OUT_PASSWORD_FILE', 'DATA_OUT_PASSWORD', 'CENTRAL_EGA_PASSWORD'],
  key_files: ['DATA_OUT_KEY_FILE'],
  passphrase_file: ['DATA_OUT_PASSPHRASE', 'C4GH_PASSPHRASE'],
  ca_file: ['DATA_OUT_CA_FILE'],
} as const satisfies Partial<Record<keyof ConfigFile, readonly string[]>>;

/** Reads the settings. @throws UsageError that names the wrong option, variable or file */
export async function readSettings(
  options: GlobalOptions & ServiceOptions & KeyOptions,
  terminal: Terminal,
): Promise<Settings> {
  return settingsFrom(await Sources.open(terminal, options.config), options, terminal);
}

/** The settings from these sources. @throws UsageError that names the wrong option, variable or file */
export function settingsFrom(sources: Sources, options: ServiceOptions & KeyOptions, terminal: Terminal): Settings {
  const { config } = sources;
  type Name = keyof typeof variables;
  const isOfFile = (name: string) => name.endsWith('_FILE');
  /** A setting that is the same in option, environment and file. */
  const find = (flag: string, value: string | undefined, key: Name) => {
    const names = key.endsWith('_file') ? variables[key].filter(isOfFile) : variables[key];
    return sources.option(flag, value) ?? sources.variable(names) ?? sources.configured(key);
  };
  /** A file, and a variable that can hold the secret itself. */
  const secret = (flag: string, value: string | undefined, key: Name) =>
    [find(flag, value, key), sources.variable(variables[key].filter((name) => !isOfFile(name)))] as const;

  const username = find('--username', options.username, 'username');
  const password = secretOf(...secret('--password-file', options.passwordFile, 'password_file'));
  const visa = secret('--visa', options.visa, 'visa_file');
  const visaFile = secretFile(...visa);
  const caFile = find('--ca', options.ca, 'ca_file');
  const keyFile = sources.variable(variables.key_files);
  const variableKeys = keyFile ? [pathOf(keyFile)] : [];
  const configuredKeys = (config.key_files ?? []).map((file) => pathOf(sources.inConfig('key_files', file)));
  const givenKeys = options.key?.map((file) => resolve(terminal.folder, file));
  return {
    proxyUrl: urlOf(find('--url', options.url, 'url')),
    visa: secretOf(...visa, checkedVisa),
    visaFile: visaFile && pathOf(visaFile),
    basic: basicOf(username, password, terminal),
    keyFiles: givenKeys ?? (keyFile ? variableKeys : configuredKeys),
    ownKeyFiles: [...new Set([...(givenKeys ?? []), ...variableKeys, ...configuredKeys])],
    receiptKeysFile: sources.beside('receipt-keys.json'),
    passphrase: secretOf(...secret('--passphrase-file', options.passphraseFile, 'passphrase_file')),
    caFile: caFile && pathOf(caFile),
    insecureHttp: options.insecureHttp ?? config.insecure_http ?? false,
  };
}

function urlOf(found: Found | undefined): URL | undefined {
  return found && serviceUrl(found.source, found.value);
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

/**
 * Credentials of HTTP Basic. A password without a setting is asked for once.
 * @param names of the variables that users set them with, for errors
 */
export function basicOf(
  username: Found | undefined,
  password: (() => Promise<string>) | undefined,
  terminal: Terminal,
  names = { username: 'DATA_OUT_USERNAME', password: 'DATA_OUT_PASSWORD' },
): Settings['basic'] {
  if (username === undefined) {
    if (password === undefined) return undefined;
    const remedy = `Give it with --username or ${names.username}.`;
    return () => Promise.reject(new UsageError('there is a password, but no user name', { remedy }));
  }
  const name = checkedUsername(username.source, username.value);
  const remedy = `Give it with --password-file FILE or ${names.password}.`;
  let asked: Promise<string> | undefined;
  const ask = () => {
    asked ??= askSecret(terminal, `Password of ${printable(name)}: `, remedy);
    return asked;
  };
  return async () => ({ username: name, password: await (password ?? ask)() });
}

/** A user name as HTTP Basic takes it (RFC 7617 § 2). @throws UsageError that names `source` */
export function checkedUsername(source: string, name: string): string {
  if (name.includes(':')) throw usageError(source, 'a user name cannot contain a colon (RFC 7617)');
  if (/\p{Cc}/u.test(name)) throw usageError(source, 'a user name cannot contain control characters (RFC 7617)');
  return name;
}
