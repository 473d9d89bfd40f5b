import { join } from 'node:path';
import type { ListedFile, ProxyApi } from '../delivery-api.ts';
import { ClientError, interrupted, UnavailableError } from '../errors.ts';
import { type Crc, loadCrc } from './disk/container-digest.ts';
import { LocalDiskError, makeFolder } from './disk/local-disk.ts';
import { localPaths, NameClashes } from './disk/local-name.ts';
import type { DownloadEvent, FileResult } from './events.ts';
import type { Existing } from './existing.ts';
import type { Expected } from './expected.ts';
import { PieceDownload, PieceMemory, piecesOf } from './piece-download.ts';

export interface DownloadFilesOptions {
  readonly proxy: ProxyApi;
  /** Rows of the listing. */
  readonly files: Iterable<ListedFile>;
  /** Made if it does not exist. */
  readonly folder: string;
  /** Requests at once; each takes memory for a piece of 8 MiB. */
  readonly parallel: number;
  readonly existing: Existing;
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
 * Downloads files of the outbox into one folder. All pieces of all files are one queue, in the order of the listing, that
 * `parallel` workers take from. A file that fails does not stop the others, unless they would fail in the same way.
 * @returns the outcome of each file; only programming errors are thrown
 */
export async function downloadFiles(options: DownloadFilesOptions): Promise<DownloadReport> {
  const files = [...options.files];
  const run = new Run(options, files, await loadCrc());
  try {
    await makeFolder(options.folder);
  } catch (error) {
    if (!(error instanceof ClientError)) throw error;
    run.stop(error);
  }
  const pieces = files.reduce((sum, { size }) => sum + piecesOf(size), 0);
  const workers = Array.from({ length: Math.min(options.parallel, pieces) }, () => run.work());
  const ended = await Promise.allSettled(workers);
  for (const each of ended) if (each.status === 'rejected') throw each.reason;
  const results = run.results();
  return { files: results, error: errorOf(results, run.stopped) };
}

class Run {
  readonly #options: DownloadFilesOptions;
  readonly #files: readonly ListedFile[];
  readonly #results = new Map<ListedFile, FileResult>();
  readonly #clashes = new NameClashes();
  /** Files that are begun and not whole, in their order. */
  readonly #begun = new Map<ListedFile, PieceDownload>();
  readonly #crc: Crc;
  #next = 0;
  #unavailable = 0;
  #change = Promise.withResolvers<void>();
  /** Set if no further file is begun, with the reason. */
  stopped: ClientError | undefined;

  constructor(options: DownloadFilesOptions, files: readonly ListedFile[], crc: Crc) {
    this.#options = options;
    this.#files = files;
    this.#crc = crc;
  }

  stop(error: ClientError): void {
    this.stopped ??= error;
  }

  /** Works until nothing is left to do. Pieces of files that are begun come before the next file. */
  async work(): Promise<void> {
    const memory = new PieceMemory();
    for (;;) {
      const work = this.#taken();
      if (work) await work(memory);
      else if (this.#begun.size === 0) return;
      else await this.#change.promise;
    }
  }

  #taken(): ((memory: PieceMemory) => Promise<void>) | undefined {
    if (this.#options.signal?.aborted) this.stop(interrupted());
    for (const [file, download] of this.#begun) {
      if (download.hasWork) return (memory) => this.#step(file, download, memory);
    }
    const file = this.stopped ? undefined : this.#files[this.#next++];
    return file && ((memory) => this.#begin(file, memory));
  }

  async #begin(file: ListedFile, memory: PieceMemory): Promise<void> {
    const { proxy, folder, existing, expected, place, signal } = this.#options;
    const [name = '', ...folders] = (place?.(file) ?? [file.name]).toReversed();
    let download: PieceDownload;
    try {
      const paths = localPaths(join(folder, ...folders.reverse()), name);
      this.#clashes.claim(file.name, paths);
      const common = { proxy, file, folder, folders, paths, existing, expected: expected?.(file), signal };
      download = new PieceDownload({ ...common, crc: this.#crc, onEvent: this.#onEvent, changed: this.#changed });
    } catch (error) {
      if (!(error instanceof ClientError)) throw error;
      return this.#finished(file, { name: file.name, size: file.size, path: '', outcome: 'failed', error });
    }
    this.#begun.set(file, download);
    await this.#step(file, download, memory);
  }

  async #step(file: ListedFile, download: PieceDownload, memory: PieceMemory): Promise<void> {
    try {
      await download.work(memory);
    } catch (error) {
      // The other workers must not wait for it.
      this.#begun.delete(file);
      this.#changed();
      throw error;
    }
    if (download.result && this.#begun.delete(file)) this.#finished(file, download.result);
  }

  #finished(file: ListedFile, result: FileResult): void {
    this.#results.set(file, result);
    const { error } = result;
    if (error instanceof UnavailableError) this.#unavailable += 1;
    else if (!error) this.#unavailable = 0;
    const isForAll = error?.code === 'unauthenticated' || error?.code === 'interrupted';
    const isFolderWide = error instanceof LocalDiskError && error.folderWide;
    if (error && (isForAll || isFolderWide || this.#unavailable >= mostUnavailable)) this.stop(error);
    this.#onEvent({ type: 'finished', result });
    this.#changed();
  }

  readonly #onEvent = (event: DownloadEvent): void => this.#options.onEvent?.(event);

  readonly #changed = (): void => {
    this.#change.resolve();
    this.#change = Promise.withResolvers();
  };

  /** In the order of the listing. Files that were not begun fail with what stopped the run. */
  results(): readonly FileResult[] {
    return this.#files.map((file) => {
      const found = this.#results.get(file);
      if (found) return found;
      const error = this.stopped as ClientError;
      const result: FileResult = { name: file.name, size: file.size, path: '', outcome: 'failed', error };
      if (error.code !== 'interrupted') this.#onEvent({ type: 'finished', result });
      return result;
    });
  }
}

function errorOf(results: readonly FileResult[], stopped: ClientError | undefined): ClientError | undefined {
  const errors = results.flatMap(({ error }) => error ?? []);
  // A file that must not be relied on matters more than one that can still come.
  const [first] = [...errors.filter(({ code }) => code === 'not_verified'), ...errors];
  if (stopped?.code === 'interrupted') return stopped;
  if (first === undefined) return stopped;
  const isAlike = errors.length === results.length && errors.every(({ code }) => code === first.code);
  if (isAlike && (errors.length === 1 || stopped === first)) return first;
  const message = `${errors.length} of ${results.length} files are not whole: ${first.message}`;
  const { remedy } = first;
  const code = isAlike || first.code === 'not_verified' ? first.code : 'partial';
  return new ClientError(code, message, { remedy, cause: first });
}
