import { constants } from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { onDisk } from './local-disk.ts';

/** For its owner only. */
export const privateMode = 0o600;
/** Windows has no such flag. */
const noFollow = constants.O_NOFOLLOW ?? 0;
const flags = constants.O_RDWR | constants.O_CREAT | noFollow;

/** The file that bytes are written to by position, in any order, until it is whole. */
export class PartFile implements AsyncDisposable {
  readonly path: string;
  readonly #mode: number;
  #handle: FileHandle;

  private constructor(path: string, mode: number, handle: FileHandle) {
    this.path = path;
    this.#mode = mode;
    this.#handle = handle;
  }

  /**
   * Opens what is there, or makes it. Never through a symbolic link, and a private one never in a file of somebody else,
   * who could read along: it is removed.
   *
   * @param mode of a new file, before the user's mask
   * @param owner whom files belong to that this process makes there
   * @throws LocalDiskError
   */
  static async open(path: string, mode: number, owner: number): Promise<PartFile> {
    return await onDisk(path, async () => {
      const part = new PartFile(path, mode, await open(path, flags, mode));
      if (mode !== privateMode) return part;
      // One that is there may be readable by more than it should be now. Some disks know no modes.
      if ((await part.#handle.stat()).uid === owner) await part.#handle.chmod(mode).catch(() => undefined);
      else await part.renew();
      return part;
    });
  }

  /** Begins anew, in a new file: who has opened the old one reads nothing of it. @throws LocalDiskError */
  async renew(): Promise<void> {
    await onDisk(this.path, async () => {
      await this.#handle.close();
      await rm(this.path, { force: true });
      this.#handle = await open(this.path, flags | constants.O_EXCL, this.#mode);
    });
  }

  /** @throws LocalDiskError */
  async size(): Promise<number> {
    const { size } = await onDisk(this.path, () => this.#handle.stat());
    return size;
  }

  /** Writes all of it, in one system call where the disk allows. @throws LocalDiskError */
  async write(buffers: readonly Uint8Array[], position: number): Promise<void> {
    await onDisk(this.path, async () => {
      let rest = buffers;
      for (let at = position; rest.length > 0; ) {
        const { bytesWritten } = await this.#handle.writev(rest as Uint8Array[], at);
        at += bytesWritten;
        rest = after(rest, bytesWritten);
      }
    });
  }

  /** Up to `length` bytes from `position` on; none behind the end. @throws LocalDiskError */
  async read(position: number, length: number): Promise<Buffer> {
    const bytes = Buffer.allocUnsafe(length);
    const { bytesRead } = await onDisk(this.path, () => this.#handle.read(bytes, 0, length, position));
    return bytes.subarray(0, bytesRead);
  }

  /** Everything written so far is on the disk when this resolves. @throws LocalDiskError */
  async sync(): Promise<void> {
    await onDisk(this.path, () => this.#handle.datasync());
  }

  /** Sets the time of the last change, where the disk keeps one. */
  async setModified(time: Date): Promise<void> {
    // Only for convenience: no reason to fail.
    await this.#handle.utimes(time, time).catch(() => undefined);
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** What is left of the buffers after so many bytes. */
function after(buffers: readonly Uint8Array[], bytes: number): readonly Uint8Array[] {
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
