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
/** So many files are synced at once, or those of so many milliseconds: the file system joins their commits. */
const group = { files: 128, milliseconds: 100 } as const;
const onDisk = promisify(fdatasync);
const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);

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
  #unsynced = 0;
  /** The last lock that was taken: the next one becomes a link to it. */
  #lock: FileLock | undefined;
  /** The same, if its file is done. */
  #idleLock: FileLock | undefined;
  /** Until a flush. */
  #timer: NodeJS.Timeout | undefined;
  readonly #sync: boolean;
  readonly #stopwatch: () => number;

  /**
   * @param options.sync whether a file is on the disk before it gets its name
   * @param options.stopwatch milliseconds since any time; default: `performance.now`
   */
  constructor({ sync, stopwatch = () => performance.now() }: { sync: boolean; stopwatch?: () => number }) {
    this.#sync = sync;
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
   * @param options.mode of the file, before the user's mask
   * @param options.modified the time it gets; default: now
   * @param written called when the file only waits for the disk, unless too many do. Default: it is synced alone
   * @returns whether the file was written; not if another process works on it or has just made it
   * @throws LocalDiskError
   */
  async write(
    paths: LocalPaths,
    bytes: Uint8Array,
    options: { readonly mode: number; readonly modified: Date | undefined },
    written?: () => void,
  ): Promise<boolean> {
    const begun = this.#stopwatch();
    let lock: FileLock | undefined;
    let file: number | undefined;
    let [isOurs, isWhole] = [false, false];
    try {
      lock = FileLock.acquireNew(paths.lock, this.#lock);
      if (lock === undefined) return false;
      this.#releaseIdle();
      this.#lock = lock;
      file = openSync(paths.part, flags, options.mode);
      isOurs = true;
      for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at, bytes.length - at, at);
      if (options.modified) futimesSync(file, options.modified, options.modified);
      this.#slowFiles = this.#stopwatch() - begun > slow.milliseconds ? this.#slowFiles + 1 : 0;
      if (this.#sync) {
        // Each of them is open. So many show that the disk is slower than the network.
        if (++this.#unsynced < 2 * group.files && written) {
          written();
          await this.#group();
        }
        await onDisk(file).finally(() => this.#unsynced--);
      }
      const isFree = lstatSync(paths.final, { throwIfNoEntry: false }) === undefined;
      if (!isFree || fstatSync(file).size !== bytes.length) return false;
      renameSync(paths.part, paths.final);
      isOurs = false;
      isWhole = true;
      return true;
    } catch (error) {
      if (hasCode(error, 'EEXIST')) return false;
      throw diskError(error, paths.part);
    } finally {
      if (file !== undefined) closeSync(file);
      if (isOurs) removed(paths.part);
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
    for (const resume of this.#waiting.splice(0)) resume();
    this.#releaseIdle();
  }

  #flushSoon(): void {
    this.#timer ??= setTimeout(() => this.flush(), group.milliseconds);
  }

  /** Waits for the next flush. */
  #group(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#waiting.push(resolve) >= group.files) this.flush();
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
