import { createHash } from 'node:crypto';
import { throwIfInterrupted } from '../errors.ts';
import type { PartFile } from './part-file.ts';
import type { Target } from './sink.ts';

const readBytes = 1024 * 1024;

/**
 * SHA-256 of a part file. Bytes that are written in order are digested at once; all others, and those of runs before, are
 * read again at the end.
 */
export class PartDigest implements Target {
  readonly #part: PartFile;
  readonly #hash = createHash('sha256');
  /** Bytes before it are digested. */
  #position = 0;

  constructor(part: PartFile) {
    this.#part = part;
  }

  /** As `PartFile.write`. */
  async write(buffers: readonly Uint8Array[], position: number): Promise<void> {
    await this.#part.write(buffers, position);
    if (position === this.#position) for (const bytes of buffers) this.#add(bytes);
  }

  /** Of the whole part, in lower-case hex; to be asked for once. @throws LocalDiskError, ClientError `interrupted` */
  async hex(signal: AbortSignal | undefined): Promise<string> {
    for (;;) {
      throwIfInterrupted(signal);
      const bytes = await this.#part.read(this.#position, readBytes);
      if (bytes.length === 0) return this.#hash.digest('hex');
      this.#add(bytes);
    }
  }

  #add(bytes: Uint8Array): void {
    this.#hash.update(bytes);
    this.#position += bytes.length;
  }
}
