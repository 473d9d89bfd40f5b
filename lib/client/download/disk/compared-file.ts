import { constants } from 'node:fs';
import { type FileHandle, open, utimes } from 'node:fs/promises';
import { onDisk } from './local-disk.ts';

/** The local file has other bytes than the remote one. */
export class DifferentError extends Error {}

/** A local file in the place of a part file: each write compares its bytes with those of the file. */
export class ComparedFile implements AsyncDisposable {
  readonly #path: string;
  readonly #handle: FileHandle;

  private constructor(path: string, handle: FileHandle) {
    this.#path = path;
    this.#handle = handle;
  }

  /** @returns `undefined` when it cannot be read, or is no regular file: links are not followed */
  static async open(path: string): Promise<ComparedFile | undefined> {
    // A named pipe would wait for its writer.
    const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
    const handle = await open(path, flags).catch(() => undefined);
    if ((await handle?.stat())?.isFile()) return handle && new ComparedFile(path, handle);
    await handle?.close();
    return undefined;
  }

  /** @throws LocalDiskError */
  async size(): Promise<number> {
    const { size } = await onDisk(this.#path, () => this.#handle.stat());
    return size;
  }

  /** @throws DifferentError when these are not the bytes at `position`; LocalDiskError */
  async write(buffers: readonly Uint8Array[], position: number): Promise<void> {
    const given = Buffer.concat(buffers);
    const found = Buffer.alloc(given.length);
    for (let filled = 0; filled < found.length; ) {
      const at = position + filled;
      const read = () => this.#handle.read(found, filled, found.length - filled, at);
      const { bytesRead } = await onDisk(this.#path, read);
      if (bytesRead === 0) throw new DifferentError();
      filled += bytesRead;
    }
    if (!found.equals(given)) throw new DifferentError();
  }

  /** Gives it the time of the remote file, by which later runs know it without reading it. */
  async setModified(lastModified: string | undefined): Promise<void> {
    const modified = new Date(lastModified ?? Number.NaN);
    // Only to save the next run work: no reason to fail.
    if (!Number.isNaN(modified.getTime())) await utimes(this.#path, modified, modified).catch(() => undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close();
  }
}
