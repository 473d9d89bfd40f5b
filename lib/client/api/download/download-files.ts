import { join } from 'node:path';
import type { ListedFile, ProxyApi } from '../delivery-api.ts';
import { ClientError, interrupted, UnavailableError } from '../errors.ts';
import type { Expected } from './check-file.ts';
import { LocalDiskError, makeFolder } from './disk/local-disk.ts';
import { localPaths } from './disk/local-name.ts';
import { type Attempt, type DownloadEvent, downloadFile, type FileResult } from './download-file.ts';
import { pieceBytes } from './part-file.ts';

export interface DownloadFilesOptions {
  readonly proxy: ProxyApi;
  /** Rows of the listing. */
  readonly files: Iterable<ListedFile>;
  /** Made if it does not exist. */
  readonly folder: string;
  /** Requests at once; each takes memory for a piece of 8 MiB. */
  readonly parallel: number;
  /** Whether existing files that do not match their receipts are replaced. */
  readonly force: boolean;
  /** What a file must be; default: no file is compared. */
  readonly expected?: ((file: ListedFile) => Expected | undefined) | undefined;
  /** Where a file lies in the folder: folders, made if they do not exist, and its name. Default: its name at the service. */
  readonly place?: ((file: ListedFile) => readonly string[] | undefined) | undefined;
  readonly onEvent?: (event: DownloadEvent) => void;
  readonly signal?: AbortSignal | undefined;
}

export interface DownloadReport {
  /** In the order of the listing. */
  readonly files: readonly FileResult[];
  /** The failure of the whole run; `undefined` if every file is whole. */
  readonly error: ClientError | undefined;
}

/** After so many files in a row without an answer, the network is gone. */
const mostUnavailable = 3;

/**
 * Downloads files of the outbox into one folder. `parallel` workers begin the files in the order of the listing, and then
 * share the pieces that are left. A file that fails does not stop the others, unless they would fail in the same way.
 * @returns the outcome of each file; only programming errors are thrown
 */
export async function downloadFiles(options: DownloadFilesOptions): Promise<DownloadReport> {
  const { proxy, folder, parallel, force, expected, place, onEvent = () => undefined, signal } = options;
  const files = [...options.files];
  const results = new Map<ListedFile, FileResult>();
  /** Of the files that were begun. Workers help with them when no file is left to begin. */
  const attempts: Promise<Attempt | undefined>[] = [];
  let unavailable = 0;
  let stopped = await failureOf(() => makeFolder(folder));

  const download = async (file: ListedFile, memory: Buffer, onAttempt: (attempt: Attempt) => void) => {
    const { name, size } = file;
    const places = place?.(file) ?? [name];
    const folders = places.slice(0, -1);
    let path = '';
    let result: FileResult | undefined;
    const error = await failureOf(async () => {
      const paths = localPaths(join(folder, ...folders), places.at(-1) ?? name);
      path = paths.final;
      const about = { proxy, file, folder, folders, paths, force, expected: expected?.(file) };
      result = { name, path, ...(await downloadFile({ ...about, memory, onAttempt, onEvent, signal })) };
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

  const queue = files.values();
  const work = async () => {
    // The system gives memory for the bytes that are used.
    const memory = Buffer.allocUnsafeSlow(pieceBytes);
    for (const file of queue) {
      if (signal?.aborted) stopped ??= interrupted();
      if (stopped) break;
      const { promise, resolve } = Promise.withResolvers<Attempt | undefined>();
      attempts.push(promise);
      await download(file, memory, resolve).finally(() => resolve(undefined));
    }
    for (const attempt of attempts) await (await attempt)?.help(memory);
  };
  const ended = await Promise.allSettled(Array.from({ length: parallel }, work));
  for (const each of ended) if (each.status === 'rejected') throw each.reason;
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
