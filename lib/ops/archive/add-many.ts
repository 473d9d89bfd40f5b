import { forEachConcurrently } from '../../common/concurrently.ts';
import { Crypt4ghError } from '../../crypt4gh/index.ts';
import { isError } from '../../errors.ts';
import type { ArchiveKey } from '../../service/archive/ports.ts';
import { UsageError } from '../../terminal/errors.ts';
import { printable } from '../../terminal/output.ts';
import type { Progress } from '../../terminal/progress.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import type { ListedFile } from '../catalogue/inventory.ts';
import { CatalogueConflictError } from '../catalogue/writer.ts';
import { OpsError } from '../errors.ts';
import type { Target } from '../target.ts';
import { type AddedFile, addFile } from './add-file.ts';
import { openInput } from './input.ts';
import type { SourceFile } from './manifest.ts';

/** The outcome of one file. Without `sha256` it was not read: the dataset has a file of its path and size. */
export type AddResult =
  | ({ readonly source: SourceFile } & Pick<AddedFile, 'fileId' | 'status'> & Partial<AddedFile>)
  | { readonly source: SourceFile; readonly status: 'failed'; readonly error: Error };

export interface AddManyRequest {
  readonly files: readonly SourceFile[];
  /** The archive's keys, newest first. */
  readonly keys: readonly [ArchiveKey, ...ArchiveKey[]];
  readonly terminal: Terminal;
  /** Files at once. A large one takes up to five parts of memory: 40 MiB, more above 78 GiB. */
  readonly parallel: number;
  /** Whether files that are there are read, and their SHA-256 compared. */
  readonly check: boolean;
  readonly progress: Progress;
  readonly onResult: (result: AddResult) => void;
}

/**
 * Adds files, as many at once as `parallel` says. A file is in the catalogue as soon as its body is whole. So the same call
 * after a failure or a kill adds what is missing: a file whose path and size the dataset has exists.
 * @throws OpsError `partial` when some files failed; an error that every file would meet, at once
 */
export async function addMany(target: Pick<Target, 'bodies' | 'catalogue'>, request: AddManyRequest): Promise<void> {
  const known = await knownFiles(target, request.files);
  const failures: Error[] = [];
  await forEachConcurrently(request.files, request.parallel, async (source) => {
    try {
      request.onResult({ source, ...(await addOne(target, source, known.get(placeOf(source)) ?? [], request)) });
    } catch (error) {
      if (!isOfOneFile(error)) throw error;
      failures.push(error);
      request.onResult({ source, status: 'failed', error });
    }
  });
  if (failures.length === 0) return;
  const message = `${failures.length} of ${request.files.length} files were not added: correct them and repeat the command`;
  throw new OpsError('partial', message, { cause: failures[0] });
}

async function addOne(
  target: Pick<Target, 'bodies' | 'catalogue'>,
  source: SourceFile,
  known: readonly ListedFile[],
  { keys, terminal, check, progress }: AddManyRequest,
): Promise<Pick<AddedFile, 'fileId' | 'status'> & Partial<AddedFile>> {
  const { datasetId, path, size, label } = source;
  const there = known.find(
    ({ fileId, submissionFileSize = size }) =>
      submissionFileSize === size && (source.fileId === undefined || source.fileId === fileId),
  );
  // Without a size in the catalogue, only its content tells.
  const present = there?.submissionFileSize === undefined || check ? undefined : there;
  // A file that is not read counts as done.
  using task = progress.task(printable(label), size, present && size);
  if (present) return { fileId: present.fileId, datasetId, path, status: 'unchanged' };
  if (!there && known[0]) throw taken(source, known[0]);
  const fileId = there?.fileId ?? source.fileId;
  using input = await openInput(source.file, terminal);
  return await addFile(target, {
    ...{ datasetId, path, keys, signal: terminal.signal, onRead: task.add, input: { ...input, label } },
    ...(fileId !== undefined && { fileId }),
  });
}

function taken(source: SourceFile, { fileId, submissionFileSize }: ListedFile): OpsError {
  const isOtherId = source.fileId !== undefined && source.fileId !== fileId;
  const ofId = `under the id ${fileId}, not ${source.fileId}`;
  const why = isOtherId ? ofId : `with ${submissionFileSize} bytes, not ${source.size}`;
  const remedy = `an archived file is never replaced, but data-out-ops archive remove ${fileId} takes it away`;
  return new OpsError('conflict', `${source.datasetId} has ${source.path} ${why}: ${remedy}`);
}

/** Files of the datasets, by {@link placeOf}. */
async function knownFiles({ catalogue }: Pick<Target, 'catalogue'>, files: readonly SourceFile[]) {
  const known = new Map<string, ListedFile[]>();
  for (const datasetId of new Set(files.map((file) => file.datasetId))) {
    for await (const file of catalogue.files(datasetId)) {
      const place = placeOf({ datasetId, path: file.submissionFilePath });
      known.set(place, [...(known.get(place) ?? []), file]);
    }
  }
  return known;
}

function placeOf({ datasetId, path }: { readonly datasetId: string; readonly path: string }): string {
  return `${datasetId}\0${path}`;
}

/** Whether other files may do better. An error of the file system names the file. */
function isOfOneFile(error: unknown): error is Error {
  const ofFile = [OpsError, CatalogueConflictError, Crypt4ghError, UsageError].some((kind) => error instanceof kind);
  return ofFile || isError(error, 'not_found') || (error instanceof Error && 'syscall' in error && 'path' in error);
}
