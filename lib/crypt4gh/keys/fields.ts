import { UnusableKeyError } from '../errors.ts';

/** Reads the length-prefixed fields of key files; integers are big-endian. */
export class FieldReader {
  readonly #bytes: Buffer;
  readonly #prefixBytes: 2 | 4;
  #offset = 0;

  /** @param prefixBytes bytes of a length field: 2 in key files of Crypt4GH, 4 in those of OpenSSH. */
  constructor(bytes: Buffer, prefixBytes: 2 | 4) {
    this.#bytes = bytes;
    this.#prefixBytes = prefixBytes;
  }

  get ended(): boolean {
    return this.#offset === this.#bytes.length;
  }

  /** The next `length` bytes. @throws UnusableKeyError if there are fewer. */
  take(length: number): Buffer {
    const end = this.#offset + length;
    if (end > this.#bytes.length) throw new UnusableKeyError('invalid-key-format', 'the key file is cut short');
    const field = this.#bytes.subarray(this.#offset, end);
    this.#offset = end;
    return field;
  }

  uint32(): number {
    return this.take(4).readUInt32BE();
  }

  /** Reads a length and returns that many bytes. */
  string(): Buffer {
    return this.take(this.take(this.#prefixBytes).readUIntBE(0, this.#prefixBytes));
  }

  /** Reads a length and returns a name of that many ASCII characters. */
  name(): string {
    return this.string().toString('latin1');
  }

  /** The remaining bytes. */
  rest(): Buffer {
    return this.take(this.#bytes.length - this.#offset);
  }
}

/** The reverse of {@link FieldReader.string} with a length field of two bytes. @throws RangeError if it is too long. */
export function field16(value: Uint8Array | string): Buffer {
  const bytes = Buffer.from(value);
  if (bytes.length > 0xffff) throw new RangeError('expected a field of at most 65,535 bytes');
  const length = Buffer.alloc(2);
  length.writeUInt16BE(bytes.length);
  return Buffer.concat([length, bytes]);
}
