import { join } from 'node:path';
import type { DeliveryApi, ListedFile } from '../delivery-api.ts';
import { ClientError, interrupted, UnavailableError } from '../errors.ts';
import type { Expected } from './check-file.ts';
import { LocalDiskError, makeFolder } from './disk/local-disk.ts';
import { localPaths } from './disk/local-name.ts';
import { type DownloadEvent, downloadFile, type FileResult } from './download-file.ts';
import { Workers } from './workers.ts';

export interface DownloadFilesOptions {
  readonly proxy: DeliveryApi;
  /** Rows of the listing. */
  readonly files: Iterable<ListedFile>;
  /** Made if it does not exist. */
  readonly folder: string;
  /** Requests at once; each takes memory for a piece. */
  readonly parallel: number;
  /** Bytes of one piece; default: 8 MiB. */
  readonly pieceBytes?: number | undefined;
  /** Whether existing files that do not match their receipts are replaced. */
  readonly force: boolean;
  /** What a file must be; default: no file is compared. */
  readonly expected?: ((file: ListedFile) => Expected | undefined) | undefined;
  /** Where a file lies in the folder: folders, made if they do not exist, and its name. Default: its name at the service. */
  readonly place?: ((file: ListedFile) => readonly string[] | undefined) | undefined;
  readonly onEvent?: (event: DownloadEvent) => void;
  readonly signal?: AbortSignal | undefined;
}

export type DownloadReport = Awaited<ReturnType<typeof downloadFiles>>;

/** After so many files in a row without an answer, the network is gone. */
const mostUnavailable = 3;

/**
 * Downloads files of the outbox into one folder. `parallel` workers take the pieces of all files, in the order of the listing. A
 * file that fails does not stop the others, unless they would fail in the same way.
 * @returns the outcome of each file, in the order of the listing, and the failure of the run; `undefined` if every file is whole.
 * Only programming errors are thrown
 */
export async function downloadFiles(options: DownloadFilesOptions) {
  const { proxy, folder, parallel, force, expected, place, onEvent = () => undefined, signal, pieceBytes } = options;
  const files = [...options.files];
  const results = new Map<ListedFile, FileResult>();
  const workers = new Workers(parallel, pieceBytes);
  const taken = new Set<string>();
  let unavailable = 0;
  let stopped = await failureOf(() => makeFolder(folder));

  const download = async (file: ListedFile, order: number, memory: Buffer) => {
    const { name, size } = file;
    const places = place?.(file) ?? [name];
    const folders = places.slice(0, -1);
    let path = '';
    let result: FileResult | undefined;
    const error = await failureOf(async () => {
      const paths = localPaths(join(folder, ...folders), places.at(-1) ?? name);
      path = paths.final;
      // On a disk that ignores case or Unicode forms, the second would replace the first.
      const onAnyDisk = path.normalize('NFC').toLowerCase();
      if (taken.has(onAnyDisk)) throw sameLocalFile(name);
      taken.add(onAnyDisk);
      const about = { proxy, file, folder, folders, paths, force, expected: expected?.(file) };
      result = { name, path, ...(await downloadFile({ ...about, memory, workers, order, onEvent, signal })) };
    });
    result ??= { name, size, path, outcome: 'failed', ...(error && { error }) };
    if (error instanceof UnavailableError) unavailable += 1;
    else if (!error) unavailable = 0;
    const isForAll = error?.code === 'unauthenticated' || error?.code === 'interrupted';
    const isFolderWide = error instanceof LocalDiskError && error.folderWide;
    if (isForAll || isFolderWide || unavailable >= mostUnavailable) stopped ??= error;
    results.set(file, result);
    onEvent({ type: 'finished', result });
  };

  const begun: Promise<void>[] = [];
  for (const [order, file] of files.entries()) {
    const memory = await workers.take(order);
    if (signal?.aborted) stopped ??= interrupted();
    if (stopped) {
      workers.give(memory);
      break;
    }
    const work = download(file, order, memory).finally(() => workers.give(memory));
    // It is awaited below, when others may have failed as well.
    work.catch(() => undefined);
    begun.push(work);
  }
  for (const each of await Promise.allSettled(begun)) if (each.status === 'rejected') throw each.reason;
  // Files that were not begun fail with what stopped the run.
  const all = files.map((file) => {
    const found = results.get(file);
    if (found) return found;
    const error = stopped as ClientError;
    const result: FileResult = { name: file.name, size: file.size, path: '', outcome: 'failed', error };
    if (error.code !== 'interrupted') onEvent({ type: 'finished', result });
    return result;
  });
  return { files: all, error: errorOf(all, stopped) };
}

function sameLocalFile(name: string): LocalDiskError {
  return new LocalDiskError(`${JSON.stringify(name)} may be the same local file as another one of this run`, {
    remedy: 'Download the two into different folders.',
  });
}

/** The failure of some work; `undefined`: it succeeded. Programming errors are thrown. */
async function failureOf(work: () => Promise<void>): Promise<ClientError | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    if (error instanceof ClientError) return error;
    throw error;
  }
}

function errorOf(results: readonly FileResult[], stopped: ClientError | undefined): ClientError | undefined {
  const errors = results.flatMap(({ error }) => error ?? []);
  // A file that must not be relied on matters more than one that can still come.
  const [first] = [...errors.filter(({ code }) => code === 'not_verified'), ...errors];
  if (first === undefined || stopped?.code === 'interrupted') return stopped;
  const isAlike = errors.length === results.length && errors.every(({ code }) => code === first.code);
  if (isAlike && (errors.length === 1 || stopped === first)) return first;
  const message = `${errors.length} of ${results.length} files are not whole: ${first.message}`;
  const code = isAlike || first.code === 'not_verified' ? first.code : 'partial';
  return new ClientError(code, message, { remedy: first.remedy, cause: first });
}
