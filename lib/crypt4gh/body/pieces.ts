import { asBuffer } from '../bytes.ts';

/**
 * Cuts bytes that come in chunks of any size into pieces of one size. A piece that lies in one chunk is a view of it. Any
 * other piece is joined in a buffer that the next such piece overwrites. So use a piece before you ask for the next.
 */
export class PieceCutter {
  readonly #scratch: Buffer;
  #held = 0;

  constructor(size: number) {
    this.#scratch = Buffer.allocUnsafeSlow(size);
  }

  /** The whole pieces that end in this chunk. */
  *push(chunk: Uint8Array): Generator<Buffer, void, undefined> {
    const buffer = asBuffer(chunk);
    const size = this.#scratch.length;
    let offset = 0;
    if (this.#held > 0) {
      offset = buffer.copy(this.#scratch, this.#held);
      this.#held += offset;
      if (this.#held < size) return;
      this.#held = 0;
      yield this.#scratch;
    }
    for (; offset + size <= buffer.length; offset += size) yield buffer.subarray(offset, offset + size);
    this.#held = buffer.copy(this.#scratch, 0, offset);
  }

  /** The bytes left after the last chunk: fewer than a piece, or none. */
  rest(): Buffer {
    return this.#scratch.subarray(0, this.#held);
  }
}
