import { usageError } from '../../terminal/errors.ts';
import { optionGroup } from '../../terminal/program.ts';
import { variables } from './settings.ts';

/** Options of commands that open connections. */
export const withConnectionOptions = optionGroup((command) =>
  command
    .option('--ca <file>', 'also trust this certificate authority, PEM')
    .option('--insecure-http', 'allow http:// to other machines: the network can read visa and files'),
);

/** Options of commands that talk to a service: its address and the user's credentials. */
export const withServiceOptions = optionGroup((command) =>
  withConnectionOptions(
    command
      .option(...urlOption)
      .option('--visa <file>', 'your visa or passport')
      .option('--username <name>', 'user name for the service')
      .option('--password-file <file>', 'the password; default: ask'),
  ),
);

/** Options of commands for administrators: the archive kind, the address and the administrator's credentials. */
export const withAdministratorOptions = optionGroup((command) =>
  withConnectionOptions(
    command
      .option('--kind <kind>', 'archive kind, as the operator set it', 'fega')
      .option(...urlOption)
      .option('--username <name>', 'user name of the administrator')
      .option('--password-file <file>', 'the password; default: ask'),
  ),
);

export const urlOption = ['--url <url>', 'address of the service'] as const;

/** The key files that users may give, for help texts. */
const privateKeyForms = 'Crypt4GH or OpenSSH ed25519';
export const publicKeyForms = 'Crypt4GH, OpenSSH ed25519 or X25519';

const readerKey = `your private key: ${privateKeyForms}; repeatable`;

/** Options of commands that use a private key. @param text help for `--key`, if only the option names the key */
export const withKeyOptions = optionGroup((command, text: string | undefined = readerKey) =>
  command
    .option('--key <file>', text, collect)
    .option('--passphrase-file <file>', `passphrase of the key; default: ${variables.passphrase_file[0]}, else ask`),
);

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
