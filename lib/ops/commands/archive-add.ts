import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { usageError } from '../../terminal/errors.ts';
import { formatDuration, printable } from '../../terminal/output.ts';
import { addFile, localFileId } from '../archive/add-file.ts';
import { addMany } from '../archive/add-many.ts';
import { addReporter, describeAdded, warnAbout } from '../archive/add-reporter.ts';
import { checkIdentifier, type IdentifierPatterns } from '../archive/identifiers.ts';
import { openInput } from '../archive/input.ts';
import { checkPath, sourcesOfManifest } from '../archive/manifest.ts';
import { readArchiveKeys } from '../secrets/archive-keys.ts';
import type { Open, Session } from './session.ts';

type AddOptions = { readonly [Name in 'dataset' | 'manifest' | 'fileId' | 'path' | 'size']?: string } & {
  readonly parallel: string;
  readonly check?: boolean;
};

const afterHelp = `
A file that begins with "crypt4gh" is treated as a container, which must open with an archive key and decrypt completely.

A known file id is never replaced. With the same path and plaintext, the file is also put into the dataset; with another
path or plaintext, the command fails.

Several files, by a manifest:
  It is CSV. Its first line names the columns: path, and optionally file_id, submission_path (the path that researchers
  see) and dataset. Its paths are relative to the given folder, else to the working folder. Symbolic links, devices and
  pipes end the command before anything is added.
  Repeat the command to add what is missing. A file is not added if the dataset has one with its path and size; --check
  also compares its SHA-256.
  Files without an id get a local one: EGAF9 and ten digits.

Examples:
  data-out-ops archive add sample.bam --dataset EGAD00000000001
  data-out-ops archive add sample.bam.c4gh --dataset EGAD00000000001 --file-id EGAF00000000001 --path study/sample.bam.c4gh
  data-out-ops archive add study --manifest files.csv`;

const longestParallel = 16;

/** `archive add <file>`, and `archive add [folder] --manifest <file>`. */
export function registerArchiveAdd(archive: Command, open: Open): void {
  archive
    .command('add')
    .description('add files: plaintext is encrypted, a Crypt4GH container for the archive is stored unchanged')
    .argument('[file]', 'file, or - for standard input; with --manifest, the folder of its paths')
    .option('--dataset <id>', 'their dataset, EGAD...')
    .option('--manifest <file>', 'CSV file that names files, ids, paths and datasets')
    .option('--parallel <files>', `with --manifest: files at once, up to ${longestParallel}`, '4')
    .option('--check', 'with --manifest: also read existing files')
    .option('--file-id <id>', 'one file: its file id, EGAF... (default: a new local one)')
    .option('--path <name>', 'one file: path that researchers see (default: its name)')
    .option('--size <bytes>', 'bytes on standard input; required above 78 GiB')
    .addHelpText('after', afterHelp)
    .action(async (name, options, command) => {
      const session = open(command);
      if (options.manifest !== undefined) return await addFiles(name, options.manifest, options, session);
      if (name === undefined) throw usageError('<file>', 'expected a file, or --manifest');
      await addTheFile(name, options, session);
    });
}

async function addTheFile(name: string, options: AddOptions, session: Session): Promise<void> {
  const { terminal, output, progress } = session;
  const { fileId, size } = options;
  if (options.dataset === undefined) throw usageError('--dataset', 'expected the dataset id');
  if (size !== undefined && !/^\d{1,15}$/.test(size)) throw usageError('--size', 'expected a number of bytes');
  using input = await openInput(name, terminal, size === undefined ? undefined : Number(size));
  if (input.name === undefined && options.path === undefined) {
    throw usageError('--path', 'standard input has no name; give one');
  }
  const path = checkPath('--path', options.path ?? input.name ?? '');
  const target = await session.target();
  const { identifiers } = target;
  const datasetId = checkIdentifier('--dataset', options.dataset, 'dataset', identifiers);
  if (fileId === undefined) checkLocalIds('--file-id', identifiers);
  else checkIdentifier('--file-id', fileId, 'file', identifiers);
  const keys = await readArchiveKeys(target.archiveKeys);
  const task = progress.task(printable(input.label), input.size);
  const started = terminal.now().getTime();
  const request = { datasetId, path, input, keys, signal: terminal.signal, onRead: task.add };
  const added = await addFile(target, { ...request, ...(fileId !== undefined && { fileId }) }).finally(progress.end);
  const took = formatDuration(terminal.now().getTime() - started);
  output.result({ ...added }, `${describeAdded(added)}, ${took}`);
  warnAbout(output, input.label, added);
  if (fileId === undefined) output.note(`note: ${added.fileId} is a local id, not one of the central archive`);
}

async function addFiles(root: string | undefined, manifest: string, options: AddOptions, session: Session) {
  const ofOneFile = { '--file-id': options.fileId, '--path': options.path, '--size': options.size };
  for (const [flag, value] of Object.entries(ofOneFile)) {
    if (value !== undefined) throw usageError(flag, 'is for one file; for several, the manifest says it');
  }
  if (root === '-') throw usageError('-', 'standard input is added alone, with --path');
  const parallel = Number(options.parallel);
  if (!Number.isInteger(parallel) || parallel < 1 || parallel > longestParallel) {
    throw usageError('--parallel', `expected a whole number from 1 to ${longestParallel}`);
  }
  const { terminal, output, progress } = session;
  const { folder } = terminal;
  const target = await session.target();
  const { identifiers: patterns } = target;
  const { dataset } = options;
  const datasetId = dataset === undefined ? undefined : checkIdentifier('--dataset', dataset, 'dataset', patterns);
  const onFault = (message: string) => output.warn(printable(message));
  const files = await sourcesOfManifest(manifest, { folder, root, datasetId, patterns, onFault });
  if (files.some(({ fileId }) => fileId === undefined)) checkLocalIds('--manifest', patterns);
  const keys = await readArchiveKeys(target.archiveKeys);
  const { onResult, summarize } = addReporter(output);
  const started = terminal.now().getTime();
  const total = files.reduce((sum, { size }) => sum + size, 0);
  progress.expect(total, files.length);
  const check = options.check === true;
  await addMany(target, { files, keys, terminal, parallel, check, progress, onResult }).finally(() => {
    progress.end();
    summarize(terminal.now().getTime() - started);
  });
}

/** @throws UsageError when this archive's ids have another form than those that the tool makes */
function checkLocalIds(source: string, { file }: IdentifierPatterns): void {
  const example = localFileId();
  if (file.test(example)) return;
  const message = `expected an id for each file: a local one such as ${example} does not match ${file.source}`;
  throw usageError(source, message);
}
