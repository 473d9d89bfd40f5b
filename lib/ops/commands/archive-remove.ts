import { randomUUID } from 'node:crypto';
import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { forEachConcurrently } from '../../common/concurrently.ts';
import { usageError } from '../../terminal/errors.ts';
import { formatBytes, printable } from '../../terminal/output.ts';
import { findFile, releasedError, removeFile } from '../archive/remove-file.ts';
import type { Target } from '../target.ts';
import { findDataset } from './dataset.ts';
import { expectConsent, type Open } from './session.ts';

const afterHelp = `
A file leaves all its datasets, none of which may be released. With --dataset, a file that is also in another dataset only
leaves this one. After a failure, the same command resumes. Staged containers stay in the outbox until they expire. The audit
trail has a row for each file.

Examples:
  data-out-ops archive remove EGAF00000000001
  data-out-ops archive remove --dataset EGAD00000000001 --yes`;

/** Files at once. */
const parallel = 4;

const happened = {
  removed: 'is removed',
  body_shared: 'is removed; another file has the same body, which is kept',
  held_elsewhere: 'has left the dataset; it is still in another one',
} as const;

/** `archive remove <file-id>`, or `--dataset <id>`: rows and bodies go for good. */
export function registerArchiveRemove(archive: Command, open: Open): void {
  archive
    .command('remove')
    .description('remove one file, or all files of a dataset')
    .argument('[file-id]', 'file id, EGAF...')
    .option('--dataset <id>', 'all files of this dataset')
    .option('--yes', 'do not ask')
    .addHelpText('after', afterHelp)
    .action(async (fileId, { dataset: datasetId, yes }, command) => {
      const { target: connect, output, terminal } = open(command);
      if ((fileId === undefined) === (datasetId === undefined)) {
        throw usageError('<file-id>', 'expected either a file or --dataset');
      }
      const target = await connect();
      const id = fileId ?? datasetId ?? '';
      const found = fileId === undefined ? await filesOf(target, id) : await oneFile(target, id);
      if (found.fileIds.length === 0) {
        output.note('note: the dataset has no files');
        return;
      }
      const question = { todo: printable(`remove ${found.what} for good`), word: id, otherwise: 'nothing was removed' };
      await expectConsent(terminal, question, yes);
      const removal = { removalId: randomUUID(), ...(datasetId !== undefined && { datasetId }) };
      await forEachConcurrently(found.fileIds, parallel, async (each) => {
        terminal.signal.throwIfAborted();
        const request = { fileId: each, ...removal };
        const outcome = await removeFile(target, request);
        output.result({ ...request, outcome }, `${printable(each)} ${happened[outcome]}`);
      });
    });
}

/** What is to be removed: ids, and words for a person. @throws OpsError `conflict` for a released file */
async function oneFile(target: Target, fileId: string) {
  const { releasedIn, datasetIds, submissionFilePath, decryptedFileSize } = await findFile(target, fileId);
  const [released] = releasedIn;
  if (released !== undefined) throw releasedError(fileId, released);
  const named = datasetIds.length === 0 ? '' : ` in ${datasetIds.join(', ')}`;
  return { fileIds: [fileId], what: `${fileId}${named}: ${submissionFilePath}, ${formatBytes(decryptedFileSize)}` };
}

/** As {@link oneFile}. @throws OpsError `conflict` for a released dataset */
async function filesOf(target: Target, datasetId: string) {
  const { newestEvent, bytes } = await findDataset(target, datasetId);
  if (newestEvent === 'released') throw releasedError(datasetId, datasetId);
  const fileIds = await Array.fromAsync(target.catalogue.files(datasetId), ({ fileId }) => fileId);
  const count = fileIds.length === 1 ? 'file' : `${fileIds.length} files`;
  return { fileIds, what: `the ${count} of ${datasetId}, ${formatBytes(bytes)}` };
}
