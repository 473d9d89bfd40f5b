import {
  closeSync,
  constants,
  fdatasync,
  fstatSync,
  futimesSync,
  lstatSync,
  openSync,
  readdirSync,
  renameSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { diskError, hasCode } from './local-disk.ts';
import type { LocalPaths } from './local-name.ts';
import { FileLock } from './lock.ts';

/** A file up to this size is kept in memory until it is whole: 1 MiB. */
const mostSmallBytes = 1024 * 1024;
/**
 * A disk is slow if none of so many files took less than so many milliseconds, as on a network. Calls to it had better wait
 * side by side, on threads.
 */
const slow = { files: 8, milliseconds: 2 } as const;
/**
 * Files are synced in groups, whose commits the file system joins: when so many bytes wait, or after so many milliseconds. A file
 * that waits is open, and its bytes are in memory; so it counts as 256 KiB at least, and twice as many bytes wait at most.
 */
const group = { bytes: 16 * 1024 * 1024, leastBytes: 256 * 1024, milliseconds: 100 } as const;
const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);

interface SmallFilesOptions {
  readonly sync: boolean | ((file: number) => Promise<void>);
  readonly stopwatch?: () => number;
}

/**
 * Puts small files on the disk by calls on this thread: on a local disk, handing a call to another thread takes longer than
 * the call. Only the sync, which waits for the disk, is left to threads, for many files at once.
 */
export class SmallFiles {
  /** Files in a row that took long. */
  #slowFiles = 0;
  /** Paths that were taken when a folder was first asked for: to look for each file's four paths takes longer. */
  readonly #taken = new Map<string, ReadonlySet<string>>();
  /** Resume the files that wait for their group. */
  #waiting: (() => void)[] = [];
  /** Of the group. */
  #waitingBytes = 0;
  /** Of all files that are not on the disk yet. */
  #unsyncedBytes = 0;
  /** The last lock that was taken: the next one becomes a link to it. */
  #lock: FileLock | undefined;
  /** `#lock`, once its file has its name. */
  #idleLock: FileLock | undefined;
  /** Calls `flush`. */
  #timer: NodeJS.Timeout | undefined;
  readonly #sync: ((file: number) => Promise<void>) | undefined;
  readonly #stopwatch: () => number;

  /**
   * @param options.sync whether a file is on the disk before it gets its name, or what brings it there. `true`: fdatasync
   * @param options.stopwatch milliseconds since any time; default: `performance.now`
   */
  constructor({ sync, stopwatch = () => performance.now() }: SmallFilesOptions) {
    this.#sync = sync === true ? promisify(fdatasync) : sync || undefined;
    this.#stopwatch = stopwatch;
  }

  /** Whether a file of `size` bytes can be written here: it is small, new, and not begun by an earlier run. */
  suits(size: number, paths: LocalPaths): boolean {
    if (size === 0 || size > mostSmallBytes || this.#slowFiles >= slow.files) return false;
    try {
      const taken = this.#takenIn(dirname(paths.final));
      // What is made from now on is found by `write`.
      return [paths.final, paths.part, paths.journal, paths.lock].every((path) => !taken.has(path));
    } catch {
      return false;
    }
  }

  #takenIn(folder: string): ReadonlySet<string> {
    const taken = this.#taken.get(folder) ?? new Set(readdirSync(folder).map((name) => join(folder, name)));
    this.#taken.set(folder, taken);
    return taken;
  }

  /**
   * Writes a whole file and gives it its name.
   * @param modified the time it gets; default: now
   * @param written called when the next file can come, because this one only waits for its group. Without it, or if enough files
   * wait already, the file is synced alone
   * @returns whether the file was written; not if another process works on it or has just made it
   * @throws LocalDiskError
   */
  async write(
    paths: LocalPaths,
    bytes: Uint8Array,
    modified: Date | undefined,
    written?: () => void,
  ): Promise<boolean> {
    const begun = this.#stopwatch();
    let lock: FileLock | undefined;
    let file: number | undefined;
    let isWhole = false;
    try {
      lock = FileLock.acquireNew(paths.lock, this.#lock);
      if (lock === undefined) return false;
      this.#releaseIdle();
      this.#lock = lock;
      file = openSync(paths.part, flags);
      for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at, bytes.length - at, at);
      if (modified) futimesSync(file, modified, modified);
      this.#slowFiles = this.#stopwatch() - begun > slow.milliseconds ? this.#slowFiles + 1 : 0;
      await this.#synced(file, bytes.length, written);
      const isFree = lstatSync(paths.final, { throwIfNoEntry: false }) === undefined;
      if (!isFree || fstatSync(file).size !== bytes.length) return false;
      renameSync(paths.part, paths.final);
      isWhole = true;
      return true;
    } catch (error) {
      if (hasCode(error, 'EEXIST')) return false;
      throw diskError(error, paths.part);
    } finally {
      if (file !== undefined) closeSync(file);
      if (file !== undefined && !isWhole) removed(paths.part);
      if (isWhole && lock === this.#lock) {
        this.#idleLock = lock;
        this.#flushSoon();
      } else {
        lock?.releaseNow();
      }
    }
  }

  /** Syncs the files that wait, and gives the idle lock back. Without a call, that happens soon. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#waitingBytes = 0;
    for (const resume of this.#waiting.splice(0)) resume();
    this.#releaseIdle();
  }

  #flushSoon(): void {
    this.#timer ??= setTimeout(() => this.flush(), group.milliseconds);
  }

  async #synced(file: number, size: number, written: (() => void) | undefined): Promise<void> {
    if (!this.#sync) return;
    const bytes = Math.max(size, group.leastBytes);
    this.#unsyncedBytes += bytes;
    try {
      // If more wait, the disk is slower than the network.
      if (written && this.#unsyncedBytes <= 2 * group.bytes) {
        written();
        await this.#nextFlush(bytes);
      }
      await this.#sync(file);
    } finally {
      this.#unsyncedBytes -= bytes;
    }
  }

  #nextFlush(bytes: number): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#waitingBytes += bytes;
      if (this.#waitingBytes >= group.bytes) this.flush();
      else this.#flushSoon();
    });
  }

  #releaseIdle(): void {
    this.#idleLock?.releaseNow();
    this.#idleLock = undefined;
  }
}

function removed(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // The first failure tells more. The next run begins this file again.
  }
}
