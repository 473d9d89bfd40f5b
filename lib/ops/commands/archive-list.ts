import type { Command } from 'commander';
import { publicKeyFingerprint } from '../../crypt4gh/index.ts';
import { NotFoundError } from '../../errors.ts';
import { formatBytes, printable } from '../../terminal/output.ts';
import type { InventoryFile, ListedFile } from '../catalogue/inventory.ts';
import { type CommandContext, openSession, showRows } from './session.ts';

const columns = [
  { title: 'FILE' },
  { title: 'DATASET' },
  { title: 'SIZE', align: 'right' },
  { title: 'PATH' },
] as const;

/** `archive list` and `archive show`: what the catalogue has. */
export function registerArchiveList(archive: Command, context: CommandContext): void {
  archive
    .command('list')
    .description('list the files, by their ids')
    .option('--dataset <id>', 'of one dataset')
    .addHelpText('after', '\nExample:\n  data-out-ops archive list --dataset EGAD00000000001')
    .action(async ({ dataset }: { readonly dataset?: string }, command: Command) => {
      const session = openSession(context, command);
      const { catalogue } = await session.target();
      if (dataset !== undefined && !(await catalogue.findDataset(dataset))) {
        throw new NotFoundError(`there is no dataset ${dataset}`);
      }
      const none = dataset === undefined ? 'note: there is no file yet' : 'note: the dataset has no files';
      await showRows(session.output, columns, catalogue.files(dataset), { cells: cellsOf, none });
    });

  archive
    .command('show')
    .description('one file: its path, sizes, body, digest and datasets')
    .argument('<file-id>', 'stable id, EGAF...')
    .addHelpText('after', '\nExample:\n  data-out-ops archive show EGAF00000000001')
    .action(async (fileId: string, _options: unknown, command: Command) => {
      const session = openSession(context, command);
      const { catalogue } = await session.target();
      const file = await catalogue.findFile(fileId);
      if (!file) throw new NotFoundError(`there is no file ${fileId}`);
      session.output.result(recordOf(file), describe(file));
    });
}

function cellsOf({ fileId, datasetIds, decryptedFileSize, submissionFilePath }: ListedFile): string[] {
  const size = decryptedFileSize === undefined ? '' : formatBytes(decryptedFileSize);
  return [printable(fileId), printable(datasetIds.join(', ')), size, printable(submissionFilePath)];
}

/** Without the header. */
function recordOf(file: InventoryFile) {
  const { fileId, submissionFilePath, decryptedFileSize, unencryptedSha256, datasetIds, releasedIn } = file;
  const { archiveFilePath, archiveLocation, archiveFileSize, keyHash } = file;
  const plaintext = { submissionFilePath, decryptedFileSize, unencryptedSha256 };
  const body = { archiveFilePath, archiveLocation, archiveFileSize, keyHash, keyFingerprint: fingerprintOf(file) };
  return { fileId, ...plaintext, ...body, datasetIds, releasedIn };
}

/** As `archive-key show` has it. The catalogue names a key by its 32 bytes; anything else stays as it is. */
function fingerprintOf({ keyHash }: InventoryFile): string | undefined {
  if (keyHash === undefined || !/^[0-9a-f]{64}$/.test(keyHash)) return keyHash;
  return publicKeyFingerprint(Buffer.from(keyHash, 'hex'));
}

function describe(file: InventoryFile): string {
  const { archiveFilePath, archiveLocation, archiveFileSize, unencryptedSha256, datasetIds, releasedIn } = file;
  const digest = unencryptedSha256 === undefined ? '' : `, SHA-256 ${unencryptedSha256}`;
  const datasets = datasetIds.map((id) => `${id}${releasedIn.includes(id) ? ' (released)' : ''}`);
  const facts = [
    ['file', file.fileId],
    ['path', file.submissionFilePath],
    ['plaintext', `${formatBytes(file.decryptedFileSize)}${digest}`],
    [
      'body',
      `${formatBytes(archiveFileSize)}, ${archiveLocation === undefined ? '' : `${archiveLocation}/`}${archiveFilePath}`,
    ],
    ['archive key', fingerprintOf(file) ?? 'not known'],
    ['datasets', datasets.join(', ') || 'none'],
  ] as const;
  return facts.map(([name, value]) => `${name.padEnd(12)} ${printable(value)}`).join('\n');
}
