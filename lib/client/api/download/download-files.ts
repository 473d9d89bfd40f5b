import { ClientError, interrupted, UnavailableError } from '../errors.ts';
import { fileNamesPerRequest, type ListedFile, type ProxyApi } from '../proxy.ts';
import { type Existing, wouldSkip } from './disk/existing.ts';
import { LocalDiskError, makeFolder, makeFoldersIn } from './disk/local-disk.ts';
import { type LocalPaths, localPaths, NameClashes } from './disk/local-name.ts';
import { SmallFiles } from './disk/small-files.ts';
import { downloadFile } from './download-file.ts';
import type { DownloadEvent, FileResult } from './events.ts';
import type { Expectation } from './expected.ts';
import { Locations } from './remote/locations.ts';
import { StagedFile } from './remote/staged-file.ts';

export interface DownloadFilesOptions {
  readonly proxy: ProxyApi;
  /** Rows of the listing. */
  readonly files: Iterable<ListedFile>;
  /** Made if it does not exist. */
  readonly folder: string;
  /** Files at once. */
  readonly parallel: number;
  /** Connections for each file. */
  readonly connections: number;
  /** A file up to this size is fetched by one request, a larger one in pieces that are not smaller. Default: 8 MiB. */
  readonly wholeBytes?: number | undefined;
  readonly existing: Existing;
  /** What a file must be; default: no file is compared. A ClientError that it throws, or rejects with, refuses the file. */
  readonly expected?: ((file: ListedFile) => Expectation) | undefined;
  /** Where a file lies in the folder: folders, made if they do not exist, and its name. Default: its name at the service. */
  readonly place?: ((file: ListedFile) => readonly string[] | undefined) | undefined;
  /** Whether a file is on the disk before it gets its name; default: yes. */
  readonly sync?: boolean;
  readonly onEvent?: (event: DownloadEvent) => void;
  readonly signal?: AbortSignal | undefined;
}

export interface DownloadReport {
  /** In the order of the listing. */
  readonly files: readonly FileResult[];
  /** The failure of the whole run; `undefined` if every file is whole. */
  readonly error: ClientError | undefined;
}

/** For files up to this size the address takes about as long as the bytes, so it is asked for ahead. */
const aheadBytes = 64 * 1024 * 1024;
/** Most bytes of files that are prepared: on a slow network, further addresses would expire unused. */
const mostBytesAhead = 256 * 1024 * 1024;
/** After so many files in a row without an answer, the network is gone. */
const mostUnavailable = 3;

interface Job {
  readonly file: ListedFile;
  readonly paths: LocalPaths;
  readonly problem: ClientError | undefined;
}

/**
 * Downloads files of the outbox into one folder, several at once. A file that fails does not stop the others, unless they
 * would fail in the same way.
 * @returns the outcome of each file; only programming errors are thrown
 */
export async function downloadFiles(options: DownloadFilesOptions): Promise<DownloadReport> {
  const { folder, parallel, signal } = options;
  const files = [...options.files];
  const results = new Map<ListedFile, FileResult>();
  const run = new Run(options, results);
  try {
    await makeFolder(folder);
  } catch (error) {
    run.stop(asClientError(error));
  }
  const jobs = run.jobs(files);
  const all: Promise<void>[] = [];
  const lane = async () => {
    for (let job = jobs.take(); job !== undefined; job = jobs.take()) {
      if (signal?.aborted) run.stop(interrupted());
      const { promise: written, resolve } = Promise.withResolvers<void>();
      // While a file waits for the disk, the next one comes. One at a time, they end in order.
      const one = run.one(await job, parallel > 1 ? resolve : undefined);
      all.push(one);
      await Promise.race([one, written]);
    }
  };
  await Promise.all(Array.from({ length: Math.min(parallel, files.length) }, lane));
  run.smallFiles.flush();
  await Promise.all(all);
  run.smallFiles.flush();
  const ordered = files.flatMap((file) => results.get(file) ?? []);
  return { files: ordered, error: errorOf(ordered, run.stopped) };
}

class Run {
  readonly #options: DownloadFilesOptions;
  readonly #results: Map<ListedFile, FileResult>;
  readonly #locations: Locations;
  readonly #clashes = new NameClashes();
  readonly smallFiles: SmallFiles;
  #unavailable = 0;
  /** Set if no further file is begun, with the reason. */
  stopped: ClientError | undefined;

  constructor(options: DownloadFilesOptions, results: Map<ListedFile, FileResult>) {
    this.#options = options;
    this.#results = results;
    this.#locations = new Locations(options.proxy);
    this.smallFiles = new SmallFiles({ sync: options.sync ?? true });
  }

  stop(error: ClientError): void {
    this.stopped ??= error;
  }

  /** The files in order, each prepared while those before it are downloaded. */
  jobs(files: readonly ListedFile[]): { take(): Promise<Job> | undefined } {
    const { parallel } = this.#options;
    const ahead: { readonly job: Promise<Job>; readonly size: number }[] = [];
    let next = 0;
    const isGroup = () =>
      ahead.length >= fileNamesPerRequest || ahead.reduce((sum, { size }) => sum + size, 0) >= mostBytesAhead;
    const isEnough = () => ahead.length > parallel && (!this.#locations.givesMany || isGroup());
    return {
      take: () => {
        for (let file = files[next]; file && !isEnough(); file = files[++next]) {
          ahead.push({ job: this.#prepared(file), size: file.size });
        }
        return ahead.shift()?.job;
      },
    };
  }

  async #prepared(file: ListedFile): Promise<Job> {
    const { folder, existing, signal } = this.#options;
    const place = this.#options.place?.(file) ?? [file.name];
    try {
      const paths = localPaths(await makeFoldersIn(folder, place.slice(0, -1)), place.at(-1) ?? '');
      this.#clashes.claim(file.name, paths);
      if (this.stopped === undefined && file.size <= aheadBytes) {
        const isNew = this.smallFiles.suits(file.size, paths);
        const isNeeded = isNew || !(await wouldSkip({ paths, existing, remote: file }));
        if (isNeeded) this.#locations.prepare(file.name, signal);
      }
      return { file, paths, problem: undefined };
    } catch (error) {
      const none = { final: '', part: '', journal: '', lock: '' };
      return { file, paths: none, problem: asClientError(error) };
    }
  }

  /** @param written called when the file only waits for the disk */
  async one({ file, paths, problem }: Job, written: (() => void) | undefined): Promise<void> {
    const { proxy, connections, wholeBytes, existing, sync, signal } = this.#options;
    const onEvent = this.#options.onEvent ?? (() => undefined);
    const { name } = file;
    const { transport } = proxy.connection;
    const locations = this.#locations;
    const remote = new StagedFile({ name, size: file.size, modified: file.modified, locations, transport });
    let result: FileResult;
    try {
      if (problem ?? this.stopped) throw problem ?? this.stopped;
      const { smallFiles } = this;
      const expected = this.#options.expected?.(file);
      // The file may fail before it is compared.
      if (expected instanceof Promise) expected.catch(() => undefined);
      const common = { remote, paths, connections, wholeBytes, existing, sync, transport, onEvent, signal };
      const downloaded = await downloadFile({ ...common, smallFiles, written, expected });
      this.#unavailable = 0;
      result = { name, size: remote.size, path: paths.final, ...downloaded };
    } catch (thrown) {
      const error = asClientError(thrown);
      if (this.#stopsAll(error)) this.stop(error);
      result = { name, size: remote.size, path: paths.final, outcome: 'failed', error };
    }
    this.#results.set(file, result);
    onEvent({ type: 'finished', result });
  }

  #stopsAll(error: ClientError): boolean {
    if (error instanceof UnavailableError) this.#unavailable += 1;
    return (
      error.code === 'unauthenticated' ||
      error.code === 'interrupted' ||
      (error instanceof LocalDiskError && error.folderWide) ||
      this.#unavailable >= mostUnavailable
    );
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

/** Throws a mistake of this program on: it is not a failure of a file. */
function asClientError(error: unknown): ClientError {
  if (error instanceof ClientError) return error;
  throw error;
}
