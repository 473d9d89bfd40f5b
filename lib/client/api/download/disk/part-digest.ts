import { createHash } from 'node:crypto';
import { throwIfInterrupted } from '../../errors.ts';
import type { ReadableTarget } from './part-file.ts';

const readBytes = 1024 * 1024;

/**
 * SHA-256 of a part file. Bytes that are written in order are digested at once. All others, and those of earlier runs, are
 * read again at the end.
 */
export class PartDigest {
  readonly #part: ReadableTarget;
  readonly #hash = createHash('sha256');
  /** Number of bytes digested, from the start of the part. */
  #position = 0;

  constructor(part: ReadableTarget) {
    this.#part = part;
  }

  /** As `PartFile.write`. */
  async write(buffers: readonly Uint8Array[], position: number): Promise<void> {
    await this.#part.write(buffers, position);
    if (position === this.#position) for (const bytes of buffers) this.#add(bytes);
  }

  /** The digest of the whole part; call it once. @throws LocalDiskError; ClientError `interrupted` */
  async found(signal: AbortSignal | undefined): Promise<{ readonly sha256: string }> {
    for (;;) {
      throwIfInterrupted(signal);
      const bytes = await this.#part.read(this.#position, readBytes);
      if (bytes.length === 0) return { sha256: this.#hash.digest('hex') };
      this.#add(bytes);
    }
  }

  #add(bytes: Uint8Array): void {
    this.#hash.update(bytes);
    this.#position += bytes.length;
  }
}
