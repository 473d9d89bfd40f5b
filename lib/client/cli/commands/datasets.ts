import type { Command } from 'commander';
import { counted, formatBytes, printable } from '../../../terminal/output.ts';
import { DataOutApi } from '../../api/data-out.ts';
import { withServiceOptions } from '../options.ts';
import { type CommandContext, openSession } from '../session.ts';

/** `datasets`: datasets that the visa grants and the archive has released, for direct access. */
export function registerDatasets(program: Command, context: CommandContext): void {
  const command = program.command('datasets').description('list the datasets that you may fetch from directly');
  withServiceOptions(command)
    .addHelpText('after', '\nExample:\n  data-out datasets')
    .action(async (_options: unknown, self: Command) => {
      await using session = await openSession(context, self);
      const { output, terminal } = session;
      const api = new DataOutApi(await session.service());
      const ids = await api.datasets({ signal: terminal.signal });
      for (const datasetId of ids) output.result({ datasetId }, printable(datasetId));
      if (ids.length === 0) output.note('Your visa grants no released dataset.');
    });
}

/** `files <datasetId>`: the files of one dataset. */
export function registerFiles(program: Command, context: CommandContext): void {
  const command = program
    .command('files')
    .description('list the files of a dataset that you may fetch from directly')
    .argument('<datasetId>', 'the dataset');
  withServiceOptions(command)
    .addHelpText('after', '\nExample:\n  data-out files EGAD00000000001')
    .action(async (datasetId: string, _options: unknown, self: Command) => {
      await using session = await openSession(context, self);
      const { output, terminal } = session;
      const api = new DataOutApi(await session.service());
      const files = await api.files(datasetId, { signal: terminal.signal });
      const rows = files.map((file) => ({
        ...file,
        checksum: file.checksum?.value,
        checksumType: file.checksum?.type,
      }));
      output.table([{ title: 'FILE' }, { title: 'SIZE', align: 'right' }, { title: 'PATH' }], rows, (row) => [
        printable(row.fileId),
        row.size === undefined ? '' : formatBytes(row.size),
        printable(row.path),
      ]);
      const count = counted(files.length, 'file');
      output.note(files.length === 0 ? 'The dataset has no files.' : count);
    });
}
