import { UnusableKeyError } from '../errors.ts';
import { latin1 } from './pem.ts';

/** Reads the length-prefixed fields of key files; integers are big-endian. Fields share the memory of the file. */
export class FieldReader<Bytes extends Uint8Array> {
  readonly #bytes: Bytes;
  readonly #prefixBytes: 2 | 4;
  #offset = 0;

  /** @param prefixBytes bytes of a length field: 2 in key files of Crypt4GH, 4 in those of OpenSSH. */
  constructor(bytes: Bytes, prefixBytes: 2 | 4) {
    this.#bytes = bytes;
    this.#prefixBytes = prefixBytes;
  }

  get ended(): boolean {
    return this.#offset === this.#bytes.length;
  }

  /** The next `length` bytes. */
  take(length: number): Bytes {
    const end = this.#offset + length;
    if (end > this.#bytes.length) throw new UnusableKeyError('invalid-key-format', 'the key file is cut short');
    const field = this.#bytes.subarray(this.#offset, end) as Bytes;
    this.#offset = end;
    return field;
  }

  uint32(): number {
    return this.#integer(4);
  }

  /** Reads a length and returns that many bytes. */
  string(): Bytes {
    return this.take(this.#integer(this.#prefixBytes));
  }

  /** Reads a length and returns a name of that many ASCII characters. */
  name(): string {
    return latin1(this.string());
  }

  /** The remaining bytes. */
  rest(): Bytes {
    return this.take(this.#bytes.length - this.#offset);
  }

  #integer(length: number): number {
    return this.take(length).reduce((value, byte) => value * 256 + byte, 0);
  }
}
