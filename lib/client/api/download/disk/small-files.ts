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
const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);
const onDisk = promisify(fdatasync);

/**
 * Puts small files on the disk by calls on this thread: on a local disk, handing a call to another thread takes longer than
 * the call. Only the sync, which waits for the disk, is left to threads.
 */
export class SmallFiles {
  /** Files in a row that took long. */
  #slowFiles = 0;
  /** Paths that were taken when a folder was first asked for: to look for each file's four paths takes longer. */
  readonly #taken = new Map<string, ReadonlySet<string>>();
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
   * @returns whether the file was written; not if another process works on it or has just made it
   * @throws LocalDiskError
   */
  async write(
    paths: LocalPaths,
    bytes: Uint8Array,
    options: { readonly mode: number; readonly modified: Date | undefined },
  ): Promise<boolean> {
    const begun = this.#stopwatch();
    let lock: FileLock | undefined;
    let file: number | undefined;
    let isOurs = false;
    try {
      lock = FileLock.acquireNew(paths.lock);
      if (lock === undefined) return false;
      file = openSync(paths.part, flags, options.mode);
      isOurs = true;
      for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at, bytes.length - at, at);
      if (options.modified) futimesSync(file, options.modified, options.modified);
      this.#slowFiles = this.#stopwatch() - begun > slow.milliseconds ? this.#slowFiles + 1 : 0;
      if (this.#sync) await onDisk(file);
      if (exists(paths.final) || fstatSync(file).size !== bytes.length) return false;
      renameSync(paths.part, paths.final);
      isOurs = false;
      return true;
    } catch (error) {
      if (hasCode(error, 'EEXIST')) return false;
      throw diskError(error, paths.part);
    } finally {
      if (file !== undefined) closeSync(file);
      if (isOurs) removed(paths.part);
      lock?.releaseNow();
    }
  }
}

function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function removed(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // The first failure tells more. The next run begins this file again.
  }
}
