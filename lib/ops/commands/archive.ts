import { type Command, Option } from 'commander';
import { identifier } from '../../contract/messages.ts';
import { usageError } from '../../terminal/errors.ts';
import { formatBytes, formatDuration, printable } from '../../terminal/output.ts';
import { type AddedFile, addFile } from '../archive/add-file.ts';
import { openInput } from '../archive/input.ts';
import { readArchiveKeys } from '../archive-keys.ts';
import { type CommandContext, openSession } from '../session.ts';

interface AddOptions {
  readonly dataset: string;
  readonly fileId?: string;
  readonly path?: string;
  readonly size?: string;
}

const afterHelp = `
A file that begins with "crypt4gh" is taken as a container: it must open with an archive key and decrypt to its end.

A file id that is known is never replaced. With the same path and the same plaintext the file is put into the dataset as
well, if it is not there; with others the command fails.

Examples:
  data-out-ops archive add sample.bam --dataset EGAD00000000001
  data-out-ops archive add sample.bam.c4gh --dataset EGAD00000000001 --file-id EGAF00000000001 --path study/sample.bam.c4gh`;

/** `archive add <file>`. */
export function registerArchive(program: Command, context: CommandContext): void {
  program
    .command('archive')
    .description('files of the archive')
    .command('add')
    .description('add one file: a plaintext is encrypted, a Crypt4GH container for the archive is taken as it is')
    .argument('<file>', 'the file, or - for standard input')
    .addOption(new Option('--dataset <id>', 'stable id of its dataset, EGAD...').makeOptionMandatory())
    .option('--file-id <id>', 'its stable id, EGAF... (default: a new local one)')
    .option('--path <name>', 'path that researchers see (default: the name of the file)')
    .option('--size <bytes>', 'bytes on standard input, where more than 78 GiB come')
    .addHelpText('after', afterHelp)
    .action(async (file: string, options: AddOptions, command: Command) => {
      const session = openSession(context, command);
      const { terminal, output, progress } = session;
      const datasetId = checkIdentifier('--dataset', options.dataset, 'EGAF');
      const fileId = options.fileId === undefined ? undefined : checkIdentifier('--file-id', options.fileId, 'EGAD');
      const input = await openInput(file, terminal, checkSize(options.size));
      try {
        const path = checkPath(options.path ?? input.name);
        const target = await session.target();
        const keys = await readArchiveKeys(target.archiveKeys);
        const task = progress.task(printable(input.label), input.size);
        const started = terminal.now().getTime();
        const added = await addFile(target, {
          datasetId,
          ...(fileId === undefined ? {} : { fileId }),
          path,
          input,
          keys,
          signal: terminal.signal,
          onRead: task.add,
        }).finally(progress.end);
        const took = formatDuration(terminal.now().getTime() - started);
        output.result({ ...added }, `${describe(added)}, ${took}`);
        if (fileId === undefined) output.note(`note: ${added.fileId} is a local id, not one of the central archive`);
      } finally {
        input.close();
      }
    });
}

const happened = {
  added: 'added to',
  linked: 'was in the archive, now also in',
  unchanged: 'was already in',
} as const;

function describe({ fileId, datasetId, path, status, decryptedSize, sha256 }: AddedFile): string {
  return `${fileId} ${happened[status]} ${datasetId}: ${printable(path)}, ${formatBytes(decryptedSize)}, SHA-256 ${sha256}`;
}

/**
 * A stable id that the service can look up. `other` is the prefix of the other kind of ids: the two are easily swapped.
 */
function checkIdentifier(field: string, value: string, other: string): string {
  if (!identifier.safeParse(value).success || value.trim() !== value) {
    throw usageError(field, 'expected 1 to 256 characters, no control characters, no spaces around');
  }
  if (value.startsWith(other)) throw usageError(field, `${value} is an identifier of another kind`);
  return value;
}

function checkPath(value: string | undefined): string {
  if (value === undefined) throw usageError('--path', 'standard input has no name; say one');
  if (value.length === 0 || value.length > 4096 || /\p{Cc}|\p{Cs}/u.test(value)) {
    throw usageError('--path', 'expected 1 to 4096 characters, no control characters');
  }
  return value;
}

function checkSize(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  if (!/^\d{1,15}$/.test(value)) throw usageError('--size', 'expected a number of bytes');
  return Number(value);
}
