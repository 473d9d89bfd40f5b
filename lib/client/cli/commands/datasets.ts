import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { type Columns, counted, formatBytes, printable } from '../../../terminal/output.ts';
import { DataOutApi } from '../../api/data-out.ts';
import { withServiceOptions } from '../options.ts';
import { type CommandContext, openSession } from '../session.ts';

const columns: Columns<{ readonly fileId: string; readonly size?: number | undefined; readonly path: string }> = [
  ['FILE', ({ fileId }) => fileId],
  ['SIZE', ({ size }) => (size === undefined ? '' : formatBytes(size)), 'right'],
  ['PATH', ({ path }) => path],
];

/** `datasets`: datasets that the visa grants and the archive has released, for direct access. */
export function registerDatasets(program: Command, context: CommandContext): void {
  withServiceOptions(program.command('datasets'))
    .description('list the datasets that you may fetch directly')
    .addHelpText('after', '\nExample:\n  data-out datasets')
    .action(async (_options, command) => {
      await using session = await openSession(context, command);
      const { output, terminal } = session;
      const api = new DataOutApi(await session.service());
      const ids = await api.datasets({ signal: terminal.signal });
      for (const datasetId of ids) output.result({ datasetId }, printable(datasetId));
      if (ids.length === 0) output.note('Your visa grants no released dataset.');
    });
}

/** `files <datasetId>`: the files of one dataset. */
export function registerFiles(program: Command, context: CommandContext): void {
  withServiceOptions(program.command('files'))
    .description('list the files of such a dataset')
    .argument('<datasetId>', 'the dataset')
    .addHelpText('after', '\nExample:\n  data-out files EGAD00000000001')
    .action(async (datasetId, _options, command) => {
      await using session = await openSession(context, command);
      const { output, terminal } = session;
      const api = new DataOutApi(await session.service());
      const files = await api.files(datasetId, { signal: terminal.signal });
      const rows = files.map(({ checksum, ...file }) => ({
        ...file,
        checksum: checksum?.value,
        checksumType: checksum?.type,
      }));
      output.table(columns, rows);
      output.note(files.length === 0 ? 'The dataset has no files.' : counted(files.length, 'file'));
    });
}
