import { combinedCrc, emptyCrc, formatCrc } from '../../../common/crc64nvme.ts';
import type { ListedFile, ProxyApi } from '../delivery-api.ts';
import { ClientError } from '../errors.ts';
import { ContainerDigest, type Crc } from './disk/container-digest.ts';
import { checkSpace, makeFoldersIn } from './disk/local-disk.ts';
import type { LocalPaths } from './disk/local-name.ts';
import { FileLock } from './disk/lock.ts';
import type { DownloadEvent, FileResult } from './events.ts';
import { type Existing, keptFile } from './existing.ts';
import { compared, type Expected, type Verified } from './expected.ts';
import { PartFile, pieceBytes } from './part-file.ts';
import { ChangedError, mostRestarts, StagedFile } from './staged-file.ts';

export interface PieceDownloadOptions {
  readonly proxy: ProxyApi;
  readonly file: ListedFile;
  readonly folder: string;
  /** Folders below `folder` that the file is in. */
  readonly folders: readonly string[];
  readonly paths: LocalPaths;
  readonly existing: Existing;
  readonly expected: Expected | undefined;
  readonly crc: Crc;
  readonly onEvent: (event: DownloadEvent) => void;
  /** Called when there can be more pieces to fetch. */
  readonly changed: () => void;
  readonly signal: AbortSignal | undefined;
}

/** An empty file has a piece as well: its reply has its time. */
export function piecesOf(size: number): number {
  return Math.max(1, Math.ceil(size / pieceBytes));
}

/** Memory for one piece at a time. */
export class PieceMemory {
  #memory: Buffer = Buffer.alloc(0);

  /** Valid until the next call. */
  of(bytes: number): Buffer {
    if (this.#memory.length < bytes) {
      this.#memory = Buffer.allocUnsafeSlow(Math.min(pieceBytes, Math.max(bytes, 2 * this.#memory.length)));
    }
    return this.#memory.subarray(0, bytes);
  }
}

/**
 * The download of one file, piece by piece, by whoever calls {@link work}. The file gets its name only when it is whole, compared
 * and on the disk. Until then it is `<name>.part`.
 */
export class PieceDownload {
  readonly #options: PieceDownloadOptions;
  readonly #remote: StagedFile;
  #lock: FileLock | undefined;
  #part: PartFile | undefined;
  /** Numbers of the pieces that nobody has taken. */
  #open: number[] = [];
  /** By the numbers of the pieces that are written. */
  #crcs = new Map<number, bigint>();
  #busy = 0;
  #restarts = 0;
  #abort = new AbortController();
  #signal: AbortSignal;
  #failure: unknown;
  #outcome: Pick<FileResult, 'outcome' | 'verified'> | undefined;
  #result: FileResult | undefined;

  constructor(options: PieceDownloadOptions) {
    this.#options = options;
    this.#remote = new StagedFile(options.proxy, options.file);
    this.#signal = this.#stoppedBy(this.#abort);
  }

  /** Set when the file is whole or has failed. */
  get result(): FileResult | undefined {
    return this.#result;
  }

  /** Whether one more call of {@link work} can do something now. The first reply shows the version that others must have. */
  get hasWork(): boolean {
    const isAlone = this.#remote.version === undefined || !this.#remote.givesRanges;
    return this.#open.length > 0 && this.#failure === undefined && (this.#busy === 0 || !isAlone);
  }

  /** Begins the file, or fetches a piece of it, and finishes it with the last one. @throws programming errors alone */
  async work(memory: PieceMemory): Promise<void> {
    this.#busy += 1;
    try {
      if (this.#part) await this.#piece(this.#part, memory);
      else await this.#begin();
    } catch (error) {
      // The first failure stops the other pieces, which then fail with it.
      this.#failure ??= error;
      this.#abort.abort();
    }
    const isLast = this.#busy === 1 && (this.#failure !== undefined || this.#outcome || this.#isWhole);
    if (isLast) await this.#end();
    this.#busy -= 1;
    this.#options.changed();
  }

  get #pieces(): number {
    return piecesOf(this.#remote.size);
  }

  get #isWhole(): boolean {
    return this.#part !== undefined && this.#crcs.size === this.#pieces;
  }

  #stoppedBy(abort: AbortController): AbortSignal {
    const { signal } = this.#options;
    return signal ? AbortSignal.any([signal, abort.signal]) : abort.signal;
  }

  #started(kept: number): void {
    this.#options.onEvent({ type: 'started', name: this.#remote.name, size: this.#remote.size, kept });
  }

  #progress = (bytes: number): void => this.#options.onEvent({ type: 'progress', name: this.#remote.name, bytes });

  async #begin(): Promise<void> {
    const { folder, folders, paths, existing, expected, file } = this.#options;
    await makeFoldersIn(folder, folders);
    this.#lock ??= await FileLock.acquire(paths.lock);
    const kept = await keptFile({
      ...{ paths, existing, expected, remote: file, signal: this.#signal },
      reading: () => this.#started(0),
      read: this.#progress,
    });
    if (kept) this.#outcome = { outcome: 'skipped', ...kept };
    else await this.#openPart();
  }

  async #openPart(): Promise<void> {
    const { name, size } = this.#remote;
    const part = await PartFile.open(this.#options.paths, { name, size });
    this.#part = part;
    this.#remote.version = part.version;
    const kept = [...part.noted.keys()].reduce((sum, piece) => sum + this.#rangeOf(piece).length, 0);
    await checkSpace(this.#options.paths.part, size - kept);
    this.#started(kept);
    this.#open = Array.from({ length: this.#pieces }, (_, piece) => piece);
  }

  #rangeOf(piece: number) {
    const start = piece * pieceBytes;
    const end = Math.min(start + pieceBytes, this.#remote.size);
    return { start, end, length: end - start };
  }

  async #piece(part: PartFile, memory: PieceMemory): Promise<void> {
    const { crc, changed, onEvent } = this.#options;
    const piece = this.#open.shift();
    if (piece === undefined) return;
    const { start, end, length } = this.#rangeOf(piece);
    const noted = part.noted.get(piece);
    if (noted !== undefined) {
      // A crash or a power cut can have taken bytes that were written.
      const bytes = await part.read(start, length, memory.of(length));
      if (bytes.length === length && crc(bytes) === noted) return void this.#crcs.set(piece, noted);
      this.#progress(-length);
    }
    const { name } = this.#remote;
    const bytes = await this.#remote.read(start, end, {
      ...{ signal: this.#signal, memory: memory.of(length), received: this.#progress, begun: changed },
      retrying: (error) => onEvent({ type: 'retrying', name, error }),
    });
    const sum = crc(bytes);
    await part.write(bytes, start);
    // What is whole at once needs no journal.
    if (this.#pieces > 1) await part.note(piece, sum, this.#remote.version);
    this.#crcs.set(piece, sum);
  }

  async #end(): Promise<void> {
    const { paths, onEvent } = this.#options;
    const { name } = this.#remote;
    try {
      if (this.#failure !== undefined) throw this.#failure;
      this.#outcome ??= { outcome: 'downloaded', verified: await this.#finish() };
      this.#result = { name, size: this.#remote.size, path: paths.final, ...this.#outcome };
    } catch (error) {
      const isChanged = error instanceof ChangedError;
      const differs = error instanceof ClientError && error.code === 'not_verified';
      const isOfUse = this.#part?.isOfUse && !isChanged && !differs;
      // The first failure tells more than a failure to clean up after it.
      await (isOfUse ? this.#part?.close() : this.#part?.discard())?.catch(() => undefined);
      if (isChanged && this.#restarts < mostRestarts) {
        onEvent({ type: 'restarted', name });
        this.#restart(error.size);
        return;
      }
      // A mistake of this program is not a failure of a file.
      if (!(error instanceof ClientError)) throw error;
      this.#result = { name, size: this.#remote.size, path: paths.final, outcome: 'failed', error };
    }
    await this.#lock?.release();
  }

  #restart(size: number): void {
    this.#restarts += 1;
    this.#remote.size = size;
    this.#remote.version = undefined;
    this.#part = undefined;
    this.#failure = undefined;
    this.#abort = new AbortController();
    this.#signal = this.#stoppedBy(this.#abort);
    this.#crcs.clear();
    // The part is opened by the next call.
    this.#open = [0];
  }

  /** Joins the pieces, compares the file and gives it its name. @throws ChecksumError; LocalDiskError */
  async #finish(): Promise<Verified | undefined> {
    const { expected, existing, crc } = this.#options;
    const part = this.#part as PartFile;
    let sum = emptyCrc;
    for (let piece = 0; piece < this.#pieces; piece += 1) {
      sum = combinedCrc(sum, this.#crcs.get(piece) ?? emptyCrc, this.#rangeOf(piece).length);
    }
    const { size, version } = this.#remote;
    const headerSha256 = expected ? await new ContainerDigest(part, crc).headerSha256() : '';
    const verified = expected && compared(expected, { size, headerSha256, crc64nvme: formatCrc(sum) });
    const modified = new Date(version?.lastModified ?? Number.NaN);
    const time = Number.isNaN(modified.getTime()) ? undefined : modified;
    await part.finish(time, { replaces: existing !== 'keep' });
    return verified;
  }
}
