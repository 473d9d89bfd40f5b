import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { usageError } from '../../terminal/errors.ts';
import { printable } from '../../terminal/output.ts';
import { writeSecretFile } from '../secrets/document.ts';
import { issueVisa } from './local-issuer.ts';
import { examples, type Open } from './session.ts';
import { registerVisaDenial } from './visa-denial.ts';

/** `visa issue`, beside the commands of `registerVisaDenial`. */
export function registerVisa(program: Command, open: Open): void {
  const visa = program.command('visa').description('visas and passports: issue local ones, deny stolen ones');
  registerVisaDenial(visa, open);

  // Against the local engine only: no deployed service trusts its issuer.
  visa
    .command('issue')
    .description('issue a visa by the local test issuer; with several datasets, a passport')
    .requiredOption('--subject <subject>', 'claim sub')
    .requiredOption('--dataset <id...>', 'dataset id, EGAD...')
    .option('--expires <duration>', 'validity, such as 90s, 30m, 1h or 7d', '1h')
    .option('-o, --output <file>', 'new file that only you can read (default: print)')
    .addHelpText('after', examples('visa issue --subject me@example.org --dataset EGAD00000000001 -o visa.jwt'))
    .action(async ({ subject, dataset: datasetIds, expires, output: file }, command) => {
      const { target, output, terminal } = open(command);
      if (subject === '') throw usageError('--subject', 'expected a subject');
      const lifetime = parseDuration('--expires', expires);
      const { connection } = await target();
      if (!connection) throw usageError('--aws', 'visas are issued for the local engine only');
      const issuedAt = terminal.now();
      const expiresAt = new Date(issuedAt.getTime() + lifetime);
      const token = await issueVisa(connection.issuer, { subject, datasetIds, issuedAt, expiresAt });
      const until = expiresAt.toISOString();
      const about = { iss: connection.issuer.iss, sub: subject, datasets: datasetIds, expiresAt: until };
      if (file === undefined) {
        output.result({ token, ...about }, token);
        return;
      }
      await writeSecretFile(file, `${token}\n`, { terminal, output });
      output.result({ file, ...about }, `${printable(file)}: for ${printable(subject)}, valid until ${until}`);
    });
}

const milliseconds = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const longestDays = 366;

/** A duration such as `90s`, `30m`, `1h`, `7d`, in milliseconds. @throws UsageError */
function parseDuration(field: string, text: string): number {
  const [, number, unit] = /^([1-9]\d{0,8})([smhd])$/.exec(text) ?? [];
  const duration = Number(number) * (milliseconds[unit as keyof typeof milliseconds] ?? Number.NaN);
  if (!(duration <= longestDays * milliseconds.d)) {
    throw usageError(field, `expected a whole number of s, m, h or d, at most ${longestDays} days: 90s, 30m, 1h, 7d`);
  }
  return duration;
}
