import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { NotFoundError } from '../../errors.ts';
import { forEachConcurrently } from '../../service/archive/concurrency.ts';
import { usageError } from '../../terminal/errors.ts';
import { formatBytes, type Output, printable } from '../../terminal/output.ts';
import { releasedError, removeFile } from '../archive/remove-file.ts';
import type { Target } from '../target.ts';
import { type CommandContext, expectConsent, openSession, type Session } from './session.ts';

interface RemoveOptions {
  readonly dataset?: string;
  readonly yes?: boolean;
}

const afterHelp = `
A file leaves all its datasets; none of them may be released. With --dataset, a file that another dataset holds, too, only
leaves this one. The same command again goes on after a failure. Staged containers stay in the outbox until they expire.
The audit trail has a row for each file.

Examples:
  data-out-ops archive remove EGAF00000000001
  data-out-ops archive remove --dataset EGAD00000000001 --yes`;

/** Files at once. */
const parallel = 4;

/** `archive remove <file-id>`, or `--dataset <id>`: rows and bodies go for good. */
export function registerArchiveRemove(archive: Command, context: CommandContext): void {
  archive
    .command('remove')
    .description('remove one file, or all files of a dataset')
    .argument('[file-id]', 'stable id, EGAF...')
    .option('--dataset <id>', 'all files of this dataset')
    .option('--yes', 'do not ask')
    .addHelpText('after', afterHelp)
    .action(async (fileId: string | undefined, options: RemoveOptions, command: Command) => {
      const session = openSession(context, command);
      if ((fileId === undefined) === (options.dataset === undefined)) {
        throw usageError('<file-id>', 'expected either a file or --dataset');
      }
      const target = await session.target();
      const remove = fileId === undefined ? removeDataset : removeOne;
      await remove(target, fileId ?? options.dataset ?? '', options, session);
    });
}

async function removeOne(target: Target, fileId: string, options: RemoveOptions, session: Session): Promise<void> {
  const file = await target.catalogue.findFile(fileId);
  if (!file) throw new NotFoundError(`there is no file ${fileId}`);
  const [released] = file.releasedIn;
  if (released !== undefined) throw releasedError(fileId, released);
  const named = file.datasetIds.length === 0 ? '' : ` in ${file.datasetIds.join(', ')}`;
  const what = `${fileId}${named}: ${file.submissionFilePath}, ${formatBytes(file.decryptedFileSize)}`;
  await expectConfirmation(what, fileId, options, session);
  await removeShown(target, { fileId, removalId: randomUUID() }, session.output);
}

async function removeDataset(
  target: Target,
  datasetId: string,
  options: RemoveOptions,
  session: Session,
): Promise<void> {
  const { catalogue } = target;
  const { output, terminal } = session;
  const dataset = await catalogue.findDataset(datasetId);
  if (!dataset) throw new NotFoundError(`there is no dataset ${datasetId}`);
  if (dataset.newestEvent === 'released') throw releasedError(datasetId, datasetId);
  const fileIds = await Array.fromAsync(catalogue.files(datasetId), ({ fileId }) => fileId);
  if (fileIds.length === 0) {
    output.note('note: the dataset has no files');
    return;
  }
  const what = `the ${fileIds.length === 1 ? 'file' : `${fileIds.length} files`} of ${datasetId}, ${formatBytes(dataset.bytes)}`;
  await expectConfirmation(what, datasetId, options, session);
  const removalId = randomUUID();
  await forEachConcurrently(fileIds, parallel, async (fileId) => {
    terminal.signal.throwIfAborted();
    await removeShown(target, { fileId, removalId, datasetId }, output);
  });
}

const happened = {
  removed: 'is removed',
  body_shared: 'is removed; another file has the same body, which stays',
  held_elsewhere: 'has left the dataset; another dataset holds it',
} as const;

async function removeShown(
  target: Target,
  request: { readonly fileId: string; readonly removalId: string; readonly datasetId?: string },
  output: Output,
): Promise<void> {
  const outcome = await removeFile(target, request);
  output.result({ ...request, outcome }, `${printable(request.fileId)} ${happened[outcome]}`);
}

/** @throws UsageError when it is not confirmed */
async function expectConfirmation(
  what: string,
  id: string,
  { yes }: RemoveOptions,
  { terminal }: Session,
): Promise<void> {
  const question = { todo: printable(`remove ${what} for good`), word: id, otherwise: 'nothing was removed' };
  await expectConsent(terminal, question, yes);
}
