import { lstat, rm } from 'node:fs/promises';
import { combinedCrc, emptyCrc, formatCrc } from '../../../common/crc64nvme.ts';
import type { DeliveryApi, ListedFile } from '../delivery-api.ts';
import { ClientError } from '../errors.ts';
import { checkFile, compared, type Expected, type Verified } from './check-file.ts';
import { headerSha256, loadCrc } from './disk/container-digest.ts';
import { checkSpace, ifThere, LocalDiskError, makeFoldersIn, onDisk } from './disk/local-disk.ts';
import type { LocalPaths } from './disk/local-name.ts';
import { FileLock } from './disk/lock.ts';
import { PartFile } from './part-file.ts';
import { ChangedError, restarting, StagedFile } from './staged-file.ts';
import type { Workers } from './workers.ts';

/** Progress of one file. */
export type DownloadEvent =
  /** `kept` bytes are noted from an earlier run. */
  | { readonly type: 'started'; readonly name: string; readonly size: number; readonly kept: number }
  /** Bytes that came; negative: bytes that have to come again. */
  | { readonly type: 'progress'; readonly name: string; readonly bytes: number }
  /** A request failed, or the remote file has changed: it is repeated. */
  | { readonly type: 'retrying'; readonly name: string; readonly error: ClientError }
  /** Not for files that were not begun before the user stopped the run. */
  | { readonly type: 'finished'; readonly result: FileResult };

/** The outcome of one file. */
export interface FileResult {
  readonly name: string;
  /** Bytes of the remote file. */
  readonly size: number;
  /** Its local path, also if it failed. */
  readonly path: string;
  readonly outcome: 'downloaded' | 'skipped' | 'failed';
  /** How it was compared with its delivery receipt in this run; absent if it was not. */
  readonly verified?: Verified | undefined;
  /** With `failed`. */
  readonly error?: ClientError;
}

export interface DownloadFileOptions {
  readonly proxy: DeliveryApi;
  readonly folder: string;
  /** Whether an existing file that does not match its receipt is replaced. Otherwise it is not touched, which is an error. */
  readonly force: boolean;
  readonly signal: AbortSignal | undefined;
  readonly file: ListedFile;
  /** Folders below `folder` that the file is in. */
  readonly folders: readonly string[];
  readonly paths: LocalPaths;
  readonly expected: Expected | undefined;
  /** Of the worker that begins the file, as large as a piece. */
  readonly memory: Buffer;
  readonly workers: Workers;
  /** Place of the file in the listing. */
  readonly order: number;
  readonly onEvent: (event: DownloadEvent) => void;
}

/** Downloads one file, piece by piece. It is `<name>.part` until it is whole, compared and on the disk. @throws ClientError */
export async function downloadFile(
  options: DownloadFileOptions,
): Promise<Pick<FileResult, 'outcome' | 'verified' | 'size'>> {
  const { file, folder, folders, paths, onEvent } = options;
  await makeFoldersIn(folder, folders);
  await using _lock = await FileLock.acquire(paths.lock);
  const kept = await keptFile(options);
  if (kept) return { outcome: 'skipped', size: file.size, ...kept };
  return await restarting(
    file.size,
    async (size) => ({ outcome: 'downloaded', size, verified: await fetched(options, size) }),
    (error) => onEvent({ type: 'retrying', name: file.name, error }),
  );
}

/**
 * Whether the file exists and needs no download, because it matches its receipt. Without a receipt, a file that has the size and
 * time of the remote file is taken for that of an earlier run, and is not verified.
 * @returns `undefined` if it must be downloaded
 * @throws LocalDiskError if the existing file must not be touched; ClientError `interrupted`
 */
async function keptFile({ file, paths, force, expected, signal, onEvent }: DownloadFileOptions) {
  const { name, size, modified } = file;
  const path = paths.final;
  const found = await onDisk(path, () => ifThere(lstat(path)));
  if (found === undefined) return undefined;
  let kept: { readonly verified: Verified | undefined } | undefined;
  // No link is followed.
  if (expected && found.isFile()) {
    onEvent({ type: 'started', name, size, kept: 0 });
    const onBytes = (bytes: number) => onEvent({ type: 'progress', name, bytes });
    const about = { path, claim: expected.file, form: 'container', privateKeys: [], onBytes, signal } as const;
    const { state, detail } = (await checkFile(about)) ?? {};
    if (state === 'cannot_be_read') {
      const remedy = 'Give another folder with --output.';
      throw new LocalDiskError(`${path} cannot be read: ${detail}`, { remedy });
    }
    if (state === 'bytes' || state === 'size_only') kept = { verified: state === 'bytes' ? state : undefined };
  } else if (found.isFile() && found.size === size && secondsOf(found.mtime) === secondsOf(modified)) {
    kept = { verified: undefined };
  }
  if (kept && (kept.verified || !force)) {
    // What an earlier run left beside it is no longer of use.
    for (const left of [paths.journal, paths.part]) await onDisk(left, () => rm(left, { force: true }));
    return kept;
  }
  if (force && !found.isDirectory()) return undefined;
  const why = found.isDirectory()
    ? 'is a folder'
    : expected
      ? 'is not what its receipt lists'
      : 'no delivery receipt names it';
  throw new LocalDiskError(`${path} exists already, and ${why}`, {
    remedy: 'Give --force to replace it, or another folder with --output.',
  });
}

function secondsOf(time: Date | undefined): number | undefined {
  return time && Math.floor(time.getTime() / 1000);
}

async function fetched(options: DownloadFileOptions, size: number): Promise<Verified | undefined> {
  const { paths, file } = options;
  const part = await PartFile.open(paths, { name: file.name, size });
  try {
    return await new Attempt(options, part, size).run();
  } catch (error) {
    const differs = error instanceof ClientError && error.code === 'not_verified';
    const isOfUse = part.isOfUse && !differs && !(error instanceof ChangedError);
    // The first failure tells more than a failure to clean up after it.
    await (isOfUse ? part.close() : part.discard()).catch(() => undefined);
    throw error;
  }
}

/** The pieces of one version of a file. */
class Attempt {
  readonly #options: DownloadFileOptions;
  readonly #part: PartFile;
  readonly #remote: StagedFile;
  /** Numbers of the pieces that nobody has taken. An empty file has one piece, because the reply shows its time. */
  readonly #open: number[];
  /** By the numbers of the pieces that are written. */
  readonly #crcs: bigint[];
  /** Resolves when the first reply has shown the version that the others must have. */
  readonly #begun = Promise.withResolvers<void>();
  readonly #abort = new AbortController();
  readonly #signal: AbortSignal;
  #failure: unknown;

  constructor(options: DownloadFileOptions, part: PartFile, size: number) {
    this.#options = options;
    this.#part = part;
    this.#remote = new StagedFile(options.proxy, { name: options.file.name, size });
    this.#remote.etag = part.etag;
    this.#crcs = new Array<bigint>(Math.max(1, Math.ceil(size / options.memory.length))).fill(emptyCrc);
    this.#open = [...this.#crcs.keys()];
    const { signal } = options;
    this.#signal = signal ? AbortSignal.any([signal, this.#abort.signal]) : this.#abort.signal;
  }

  async run(): Promise<Verified | undefined> {
    const { onEvent, paths, memory } = this.#options;
    const { name, size, etag } = this.#remote;
    const noted = this.#open.map((piece) => this.#rangeOf(piece)).filter(({ start }) => this.#part.noted.has(start));
    const kept = noted.reduce((sum, { length }) => sum + length, 0);
    this.#failure = await checkSpace(paths.part, size - kept).catch((error: unknown) => error);
    if (this.#failure !== undefined) this.#open.length = 0;
    onEvent({ type: 'started', name, size, kept });
    if (etag !== undefined) this.#begun.resolve();
    const helping: Promise<void>[] = [];
    void this.#join(helping);
    await this.#work(memory, () => true);
    await Promise.all(helping);
    if (this.#failure !== undefined) throw this.#failure;
    return await this.#finish();
  }

  /** Gets more workers once the first reply has shown the version that the others must have. */
  async #join(helping: Promise<void>[]): Promise<void> {
    const { workers, order } = this.#options;
    await this.#begun.promise;
    const isOfUse = () => this.#remote.givesRanges;
    while (this.#open.length > 0 && isOfUse()) {
      const memory = await workers.take(order);
      helping.push(this.#work(memory, isOfUse).finally(() => workers.give(memory)));
    }
  }

  async #work(memory: Buffer, isOfUse: () => boolean): Promise<void> {
    while (isOfUse()) {
      const piece = this.#open.shift();
      if (piece === undefined) return;
      try {
        this.#crcs[piece] = await this.#piece(piece, memory);
      } catch (error) {
        // The first failure stops the other pieces, which then fail with it.
        this.#failure ??= error;
        this.#open.length = 0;
        this.#abort.abort();
      }
    }
  }

  #rangeOf(piece: number) {
    const { length: most } = this.#options.memory;
    const start = piece * most;
    const end = Math.min(start + most, this.#remote.size);
    return { start, end, length: end - start };
  }

  async #piece(piece: number, memory: Buffer): Promise<bigint> {
    const { onEvent, file } = this.#options;
    const crc = await loadCrc();
    const { name } = file;
    const { start, end, length } = this.#rangeOf(piece);
    const received = (bytes: number) => onEvent({ type: 'progress', name, bytes });
    const noted = this.#part.noted.get(start);
    if (noted !== undefined) {
      // A crash or a power cut can have taken bytes that were written.
      const bytes = await this.#part.read(start, length, memory.subarray(0, length));
      if (bytes.length === length && crc(bytes) === noted) return noted;
      received(-length);
    }
    const bytes = await this.#remote.read(start, end, {
      ...{ signal: this.#signal, memory: memory.subarray(0, length), received, begun: this.#begun.resolve },
      retrying: (error) => onEvent({ type: 'retrying', name, error }),
    });
    const sum = crc(bytes);
    await this.#part.write(bytes, start);
    // A file of one piece needs no journal.
    if (this.#crcs.length > 1) await this.#part.note(start, sum, this.#remote.etag);
    return sum;
  }

  /** Joins the pieces, compares the file and gives it its name. */
  async #finish(): Promise<Verified | undefined> {
    const { expected, force, file } = this.#options;
    const { size } = this.#remote;
    let verified: Verified | undefined;
    if (expected) {
      const joined = this.#crcs.reduce(
        (sum, crc, piece) => combinedCrc(sum, crc, this.#rangeOf(piece).length),
        emptyCrc,
      );
      const found = { size, headerSha256: await headerSha256(this.#part), crc64nvme: formatCrc(joined) };
      verified = compared(expected, found);
    }
    await this.#part.finish(this.#remote.modified ?? file.modified, { replaces: force });
    return verified;
  }
}
