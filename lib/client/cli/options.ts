import { type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { usageError } from '../../terminal/errors.ts';
import { optionGroup } from '../../terminal/program.ts';
import { administratorVariables, type SettingOptions, variables } from './settings.ts';

/** Options of commands that open connections. */
export const withConnectionOptions = optionGroup((command) =>
  command
    .addOption(new Option('--ca <file>', 'also trust this certificate authority, PEM').env(variables.ca_file[0]))
    .option('--insecure-http', 'allow http:// to other machines: the network can read visa and files'),
);

/** Options of commands that talk to a service: its address and the user's credentials. */
export const withServiceOptions = optionGroup((command) =>
  withConnectionOptions(
    command
      .addOption(urlOption())
      .addOption(new Option('--visa <file>', 'your visa or passport').env(variables.visa_file[2]))
      .addOption(new Option('--username <name>', 'user name for the service').env(variables.username[0]))
      .addOption(new Option('--password-file <file>', 'the password; default: ask').env(variables.password_file[2])),
  ),
);

/** Options of commands for administrators: the archive kind, the address and the administrator's credentials. */
export const withAdministratorOptions = optionGroup((command) => {
  const { username, password_file: passwordFile } = administratorVariables;
  return withConnectionOptions(
    command
      .option('--kind <kind>', 'archive kind, as the operator set it', 'fega')
      .addOption(urlOption())
      .addOption(new Option('--username <name>', 'user name of the administrator').env(username[0]))
      .addOption(new Option('--password-file <file>', 'the password; default: ask').env(passwordFile[1])),
  );
});

export const urlOption = () => new Option('--url <url>', 'address of the service').env(variables.url[0]);

/** The key files that users may give, for help texts. */
const privateKeyForms = 'Crypt4GH or OpenSSH ed25519';
export const publicKeyForms = 'Crypt4GH, OpenSSH ed25519 or X25519';

const readerKey = `your private key: ${privateKeyForms}; repeatable`;

/** Options of commands that use a private key. @param text help for `--key`, if only the option names the key */
export const withKeyOptions = optionGroup((command, text?: string) => {
  const key = new Option('--key <file>', text ?? readerKey).argParser(collect);
  return command
    .addOption(text === undefined ? key.env(variables.key_files[0]) : key)
    .option('--passphrase-file <file>', `passphrase of the key; default: ${variables.passphrase_file[0]}, else ask`);
});

/**
 * The options that were typed. Of the others, commander has read the variables of this process: settings come from those of
 * the terminal.
 */
export function typedOptions(command: CommandUnknownOpts): SettingOptions {
  const isTyped = ([name]: [string, unknown]) => command.getOptionValueSourceWithGlobals(name) === 'cli';
  return Object.fromEntries(Object.entries(command.optsWithGlobals()).filter(isTyped));
}

/** For a repeatable option. */
export function collect(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value];
}

/** Parses a whole number. @throws UsageError */
export function parseCount(
  source: string,
  text: string,
  limits: { readonly from: number; readonly to: number },
): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= limits.from && value <= limits.to) return value;
  throw usageError(source, `expected a whole number from ${limits.from} to ${limits.to}`);
}

const secondsOf: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** Parses a duration, such as `90m` or `2d`. @returns milliseconds @throws UsageError */
export function parseDuration(source: string, text: string): number {
  const [, count = '', unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const seconds = Number(count) * (secondsOf[unit] ?? 0);
  if (seconds > 0) return seconds * 1000;
  throw usageError(source, 'expected a number and a unit: 30s, 90m, 24h or 2d');
}

/** Parses a date, or a date and time with its zone (ISO 8601). A date alone is midnight in UTC. @throws UsageError */
export function parseTime(source: string, text: string): Date {
  const isTime = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2}))?$/.test(text);
  const time = new Date(isTime ? text : Number.NaN);
  if (!Number.isNaN(time.getTime())) return time;
  throw usageError(source, 'expected a date, or a date and time with its zone: 2026-11-22T09:00:00Z');
}
