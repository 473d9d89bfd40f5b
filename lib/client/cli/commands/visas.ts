import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { type Columns, printable } from '../../../terminal/output.ts';
import { ClientError } from '../../api/errors.ts';
import type { DecodedVisa } from '../../api/order/decoded-visa.ts';
import { isLongExpired } from '../../api/order/order-rules.ts';
import { fittingVisa } from '../../api/visa-choice.ts';
import { outputOf, reportWritten, withOutputOptions } from '../files/options.ts';
import { writeOutput } from '../files/output-file.ts';
import { withServiceOptions } from '../options.ts';
import { type CommandContext, openSession, sessionOf } from '../session.ts';
import { readSettings, visaRemedy } from '../settings.ts';

const listHelp = `
Lists the visas of your last sign-in, or of the file that --visa names. They are decoded, not verified. data-out visas without a
subcommand does the same.

Example:
  data-out visas list`;

const saveHelp = `
Of several visas for the dataset, the one that is valid longest is written. The administrator of the archive needs it for an
export. A person who has the file can read what you may read, so send it through the archive's confidential channel.

Example:
  data-out visas save EGAD00000000001 -o visa.jwt`;

const columns: Columns<ReturnType<typeof rowOf>> = [
  ['DATASET', ({ dataset }) => dataset],
  ['UNTIL', ({ until }) => until?.slice(0, 16).replace('T', ' ') ?? ''],
  ['GRANTED BY', ({ grantedBy }) => grantedBy],
  ['ISSUER', ({ issuer }) => issuer],
];

/** `visas`, `visas save`: what the user may have, and one visa as a file. */
export function registerVisas(program: Command, context: CommandContext): void {
  const visas = program
    .command('visas')
    .description('list your visas, or write one to a file')
    .addHelpText('after', '\nExample:\n  data-out visas save EGAD00000000001 -o visa.jwt');
  withServiceOptions(visas.command('list', { isDefault: true }))
    .description('list your visas')
    .addHelpText('after', listHelp)
    .action(async (_options, command) => {
      await using session = await openSession(context, command);
      session.output.table(columns, (await session.visa()).all.map(rowOf));
    });
  withServiceOptions(withOutputOptions(visas.command('save'), 'new file that only you can read'))
    .description('write the visa for a dataset to a file')
    .argument('<dataset>')
    .addHelpText('after', saveHelp)
    .action(async (dataset, options, command) => {
      // The visa for the dataset is the one to renew.
      const settings = await readSettings({ ...command.optsWithGlobals(), dataset }, context.terminal);
      await using session = sessionOf(context, command, settings);
      const { terminal, output } = session;
      const { output: name = 'visa.jwt' } = options;
      const { all } = await session.visa();
      const visa = fittingVisa(all, dataset);
      if (!visa) {
        const remedy = 'data-out visas lists them. Ask the data access committee.';
        throw new ClientError('not_found', `none of your ${all.length} visas grants ${dataset}`, { remedy });
      }
      const { expires } = visa;
      if (expires && isLongExpired({ expires, visas: [] }, terminal.now())) {
        const what = `the visa for ${dataset} expired at ${expires.toISOString()}`;
        throw new ClientError('unauthenticated', what, { remedy: visaRemedy(settings) });
      }
      const to = { ...outputOf(name, options, terminal), mode: 0o600 };
      await writeOutput(to, (sink) => sink.write([Buffer.from(`${visa.token}\n`)]));
      reportWritten(output, { dataset: printable(dataset), output: name });
    });
}

function rowOf({ value: dataset, issuer, source: grantedBy, expires }: DecodedVisa) {
  return { dataset, until: expires?.toISOString() ?? null, grantedBy, issuer };
}
