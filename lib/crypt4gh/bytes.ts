import { randomBytes } from 'node:crypto';

/**
 * Source of randomness, `size` bytes a call. The default everywhere is `randomBytes` of node:crypto. Each call must give
 * memory of its own: what was used as a key is overwritten afterwards.
 */
export type Random = (size: number) => Uint8Array;

export const systemRandom: Random = randomBytes;

/** Bytes in pieces of any size: a Node stream, a Web stream, a generator, an array of buffers. */
export type ByteSource = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** The same memory as a Buffer. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** @throws RangeError when `bytes` is not `length` bytes long: an error of the caller, not of the data. */
export function expectLength(bytes: Uint8Array, length: number, what: string): void {
  if (bytes.length !== length) throw new RangeError(`expected ${what} of ${length} bytes, got ${bytes.length}`);
}

/**
 * Overwrites key material that is no longer needed. JavaScript gives no promise that no copy is left: the engine may
 * have moved the bytes, and strings, passphrases among them, cannot be overwritten.
 */
export function wipe(...secrets: readonly (Uint8Array | undefined)[]): void {
  for (const secret of secrets) secret?.fill(0);
}
