import { constants } from 'node:fs';
import { type FileHandle, open, utimes } from 'node:fs/promises';
import { onDisk } from './local-disk.ts';

/** The local file differs from the remote one. */
export class DifferentError extends Error {}

/** Stands in for a part file. Each write compares its bytes with those of an existing file. */
export class ComparedFile implements AsyncDisposable {
  readonly #path: string;
  readonly #handle: FileHandle;

  private constructor(path: string, handle: FileHandle) {
    this.#path = path;
    this.#handle = handle;
  }

  /** @returns `undefined` if it cannot be read or is not a regular file; links are not followed */
  static async open(path: string): Promise<ComparedFile | undefined> {
    // Without O_NONBLOCK, a named pipe would wait for its writer.
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

  /** @throws DifferentError if the file has other bytes at `position`; LocalDiskError */
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

  /** As `PartFile.read`. */
  async read(position: number, length: number): Promise<Buffer> {
    const bytes = Buffer.allocUnsafe(length);
    const { bytesRead } = await onDisk(this.#path, () => this.#handle.read(bytes, 0, length, position));
    return bytes.subarray(0, bytesRead);
  }

  /** Gives the file the time of the remote one, by which later runs recognize it without reading it. */
  async setModified(modified: Date | undefined): Promise<void> {
    // This only saves the next run work: no reason to fail.
    if (modified) await utimes(this.#path, modified, modified).catch(() => undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close();
  }
}
