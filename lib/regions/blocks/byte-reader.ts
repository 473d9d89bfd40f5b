import { RegionsError } from '../errors.ts';

/** Little-endian fields out of a stream, which holds no more than one piece and what was asked for. */
export class ByteReader {
  readonly #pieces: AsyncIterator<Uint8Array>;
  readonly #what: string;
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;
  #consumedBefore = 0;

  /** @param what begins the message of the error for a stream that ends within a field. */
  constructor(pieces: AsyncIterable<Uint8Array>, what = '') {
    this.#pieces = pieces[Symbol.asyncIterator]();
    this.#what = what;
  }

  /** Bytes that were taken so far. */
  get position(): number {
    return this.#consumedBefore + this.#at;
  }

  /** Bytes that can be taken without waiting. */
  get buffered(): number {
    return this.#bytes.length - this.#at;
  }

  /** Waits until `count` bytes can be taken. False if the stream ends before. */
  async fill(count: number): Promise<boolean> {
    if (this.buffered >= count) return true;
    const pieces: Uint8Array[] = [this.#bytes.subarray(this.#at)];
    let total = this.buffered;
    while (total < count) {
      const next = await this.#pieces.next();
      if (next.done) break;
      pieces.push(next.value);
      total += next.value.length;
    }
    this.#consumedBefore += this.#at;
    this.#bytes = Buffer.concat(pieces);
    this.#at = 0;
    return total >= count;
  }

  /** Waits until `count` bytes of `what` can be taken. @throws the error for a stream that ends before. */
  async need(count: number, what: string): Promise<void> {
    if (this.buffered < count && !(await this.fill(count))) {
      throw new RegionsError(`${this.#what}it ends within ${what}`);
    }
  }

  /** The next bytes, valid until the next wait. */
  take(count: number): Buffer {
    this.#at += count;
    return this.#bytes.subarray(this.#at - count, this.#at);
  }

  /** The next byte without taking it, or undefined if none is buffered. */
  peek(): number | undefined {
    return this.#bytes[this.#at];
  }

  /** Up to `count` buffered bytes as Latin-1, without taking them. */
  peekText(count: number): string {
    return this.#bytes.toString('latin1', this.#at, this.#at + count);
  }

  /** Position, from the next byte, of the first newline in what is buffered; -1 if there is none. */
  newline(): number {
    const found = this.#bytes.indexOf(10, this.#at);
    return found < 0 ? -1 : found - this.#at;
  }

  /** All whole lines that are buffered, or all that is buffered if it has no end of a line; valid until the next wait. */
  takeLines(): Buffer {
    const end = this.#bytes.lastIndexOf(10) + 1;
    return this.take(end > this.#at ? end - this.#at : this.buffered);
  }

  u32(): number {
    this.#at += 4;
    return this.#bytes.readUInt32LE(this.#at - 4);
  }

  i32(): number {
    this.#at += 4;
    return this.#bytes.readInt32LE(this.#at - 4);
  }

  /** Ends the stream that feeds this reader. */
  async close(): Promise<void> {
    await this.#pieces.return?.();
  }
}
