import { randomBytes } from 'node:crypto';

/**
 * Source of randomness for keys and nonces (Crypt4GH § 5.2, § 5.3); gives `size` bytes. The default everywhere is
 * `randomBytes` of node:crypto. Each call must return new memory, since keys are overwritten after use.
 */
export type Random = (size: number) => Uint8Array;

export const systemRandom: Random = (size) => randomBytes(size);

/**
 * Bytes in pieces of any size: a Node stream, a Web stream, a generator, an array of buffers. A piece is not used after the
 * next one was asked for, so a source may use its memory again.
 */
export type ByteSource = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** Bytes [start, end) of a plaintext, a body or a file. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** A single `Uint8Array` is not a source: it would be read number by number. */
export function expectByteSource(source: ByteSource): void {
  const isObject = typeof source === 'object' && source !== null;
  if (isObject && !ArrayBuffer.isView(source) && (Symbol.asyncIterator in source || Symbol.iterator in source)) return;
  throw new TypeError(
    'expected a stream, an array or another iterable of Uint8Array; put a single Uint8Array into an array',
  );
}

/** The same memory as a Buffer. Strings, as of a Node stream with an encoding, are refused. */
export function asBuffer(bytes: Uint8Array): Buffer {
  if (!ArrayBuffer.isView(bytes)) throw new TypeError(`expected bytes as a Uint8Array, got a ${typeof bytes}`);
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** A wrong length is an error of the caller, not of the data. */
export function expectLength(bytes: Uint8Array, length: number, what: string): void {
  if (bytes.length !== length) throw new RangeError(`expected ${what} of ${length} bytes, got ${bytes.length}`);
}

export function expectOne(count: number, what: string): void {
  if (!Number.isSafeInteger(count) || count < 1) throw new RangeError(`expected at least one ${what}, got ${count}`);
}

export function expectSome(list: readonly unknown[], what: string): void {
  if (list.length === 0) throw new RangeError(`expected at least one ${what}`);
}

/**
 * Overwrites key material that is no longer needed. Copies may still be left: the engine may have moved the bytes, and
 * strings cannot be overwritten. Give a passphrase as bytes to have none as a string.
 */
export function wipe(...secrets: readonly (Uint8Array | undefined)[]): void {
  for (const secret of secrets) secret?.fill(0);
}
