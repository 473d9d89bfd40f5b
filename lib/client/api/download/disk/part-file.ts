import { constants, writevSync } from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { onDisk } from './local-disk.ts';

/** Windows has no such flag. */
const noFollow = constants.O_NOFOLLOW ?? 0;
/**
 * A disk is slow if each of so many writes took longer than this, and brought fewer bytes in a millisecond, as on a network. Calls
 * to it had better wait on a thread.
 */
const slow = { writes: 8, milliseconds: 2, bytesPerMs: 100_000 } as const;
const flags = constants.O_RDWR | constants.O_CREAT | noFollow;

/** Takes bytes by their position in a file. */
export type Target = Pick<PartFile, 'write'>;

/** The same, and gives them back. */
export type ReadableTarget = Pick<PartFile, 'write' | 'read'>;

/** A file that is written by position, in any order, until it is whole. */
export class PartFile implements AsyncDisposable {
  readonly path: string;
  #handle: FileHandle;
  /** Writes in a row that took long. */
  #slowWrites = 0;

  private constructor(path: string, handle: FileHandle) {
    this.path = path;
    this.#handle = handle;
  }

  /** Opens the file, or makes it. It never follows a symbolic link. @throws LocalDiskError */
  static async open(path: string): Promise<PartFile> {
    return await onDisk(path, async () => new PartFile(path, await open(path, flags)));
  }

  /** Restarts in a new file. A process that has opened the old one cannot read it. @throws LocalDiskError */
  async renew(): Promise<void> {
    await onDisk(this.path, async () => {
      await this.#handle.close();
      await rm(this.path, { force: true });
      this.#handle = await open(this.path, flags | constants.O_EXCL);
    });
  }

  /** @throws LocalDiskError */
  async size(): Promise<number> {
    const { size } = await onDisk(this.path, () => this.#handle.stat());
    return size;
  }

  /**
   * Writes all of it, in one system call where the disk allows, and on this thread while the disk is fast: the bytes are still in
   * the processor's cache, and handing them to another thread takes longer than the call. @throws LocalDiskError
   */
  async write(buffers: readonly Uint8Array[], position: number): Promise<void> {
    await onDisk(this.path, async () => {
      const { fd } = this.#handle;
      let rest = buffers as Uint8Array[];
      for (let at = position; rest.length > 0; ) {
        const began = performance.now();
        const isFast = this.#slowWrites < slow.writes;
        const written = isFast ? writevSync(fd, rest, at) : (await this.#handle.writev(rest, at)).bytesWritten;
        const tookMs = performance.now() - began;
        const isSlow = tookMs > slow.milliseconds && written < tookMs * slow.bytesPerMs;
        if (isFast) this.#slowWrites = isSlow ? this.#slowWrites + 1 : 0;
        at += written;
        rest = after(rest, written);
      }
    });
  }

  /** Up to `length` bytes from `position` on; empty behind the end. @throws LocalDiskError */
  async read(position: number, length: number): Promise<Buffer> {
    const bytes = Buffer.allocUnsafe(length);
    const { bytesRead } = await onDisk(this.path, () => this.#handle.read(bytes, 0, length, position));
    return bytes.subarray(0, bytesRead);
  }

  /** Resolves when all bytes written so far are on the disk. @throws LocalDiskError */
  async sync(): Promise<void> {
    await onDisk(this.path, () => this.#handle.datasync());
  }

  /** Sets the time of the last change, if the disk keeps one. */
  async setModified(time: Date): Promise<void> {
    // A convenience: no reason to fail.
    await this.#handle.utimes(time, time).catch(() => undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close();
  }
}

function after(buffers: readonly Uint8Array[], bytes: number): Uint8Array[] {
  let skip = bytes;
  const from = buffers.findIndex((buffer) => {
    if (buffer.length > skip) return true;
    skip -= buffer.length;
    return false;
  });
  if (from < 0) return [];
  const [first, ...rest] = buffers.slice(from);
  return first === undefined ? [] : [first.subarray(skip), ...rest];
}
