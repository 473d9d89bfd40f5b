import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { publicKeyFingerprint } from '../../crypt4gh/index.ts';
import { type Columns, formatBytes, formatFacts } from '../../terminal/output.ts';
import { findFile } from '../archive/remove-file.ts';
import type { InventoryFile, ListedFile } from '../catalogue/inventory.ts';
import { registerArchiveAdd } from './archive-add.ts';
import { registerArchiveRemove } from './archive-remove.ts';
import { findDataset } from './dataset.ts';
import { examples, type Open, showRows } from './session.ts';

const columns: Columns<ListedFile> = [
  ['FILE', ({ fileId }) => fileId],
  ['DATASET', ({ datasetIds }) => datasetIds.join(', ')],
  ['SIZE', ({ decryptedFileSize: size }) => (size === undefined ? '' : formatBytes(size)), 'right'],
  ['PATH', ({ submissionFilePath }) => submissionFilePath],
];

/** `archive add|list|show|remove`: the files of the archive. */
export function registerArchive(program: Command, open: Open): void {
  const archive = program.command('archive').description('files of the archive');
  registerArchiveAdd(archive, open);

  archive
    .command('list')
    .description('list files, by id')
    .option('--dataset <id>', 'of one dataset')
    .addHelpText('after', examples('archive list --dataset EGAD00000000001'))
    .action(async ({ dataset }, command) => {
      const { target, output } = open(command);
      const found = await target();
      if (dataset !== undefined) await findDataset(found, dataset);
      const none = dataset === undefined ? 'note: there are no files yet' : 'note: the dataset has no files';
      await showRows(output, columns, found.catalogue.files(dataset), none);
    });

  archive
    .command('show')
    .description("show a file's path, sizes, body, digest and datasets")
    .argument('<file-id>', 'file id, EGAF...')
    .addHelpText('after', examples('archive show EGAF00000000001'))
    .action(async (fileId, _options, command) => {
      const { target, output } = open(command);
      const file = await findFile(await target(), fileId);
      output.result({ ...file, keyFingerprint: fingerprintOf(file) }, describe(file));
    });

  registerArchiveRemove(archive, open);
}

/** As `archive-key show` has it. The catalogue names a key by its 32 bytes; anything else stays as it is. */
function fingerprintOf({ keyHash }: InventoryFile): string | undefined {
  if (keyHash === undefined || !/^[0-9a-f]{64}$/.test(keyHash)) return keyHash;
  return publicKeyFingerprint(Buffer.from(keyHash, 'hex'));
}

function describe(file: InventoryFile): string {
  const { archiveFilePath, archiveLocation, archiveFileSize, unencryptedSha256, datasetIds, releasedIn } = file;
  const digest = unencryptedSha256 === undefined ? '' : `, SHA-256 ${unencryptedSha256}`;
  const folder = archiveLocation === undefined ? '' : `${archiveLocation}/`;
  const datasets = datasetIds.map((id) => `${id}${releasedIn.includes(id) ? ' (released)' : ''}`);
  const facts = [
    ['file', file.fileId],
    ['path', file.submissionFilePath],
    ['plaintext', `${formatBytes(file.decryptedFileSize)}${digest}`],
    ['body', `${formatBytes(archiveFileSize)}, ${folder}${archiveFilePath}`],
    ['archive key', fingerprintOf(file) ?? 'not known'],
    ['datasets', datasets.join(', ') || 'none'],
  ] as const;
  return formatFacts(facts, 13);
}
