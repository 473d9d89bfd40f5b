import { DamagedBodyError } from './errors.ts';

/** Plaintext bytes of a full segment (Crypt4GH § 3.4.2). */
export const SEGMENT_BYTES = 65_536;
/** Nonce and MAC bytes around the ciphertext (Crypt4GH § 3.4.2). */
export const nonceBytes = 12;
export const macBytes = 16;
/** Bytes that encryption adds to a segment, and to whatever else is sealed. */
export const segmentOverhead = nonceBytes + macBytes;
/** Bytes of a full segment in the body (Crypt4GH § 3.4.2). */
export const ENCRYPTED_SEGMENT_BYTES = SEGMENT_BYTES + segmentOverhead;

/** The size as a bigint. @throws RangeError when it is negative, no whole number, or a number above 2^53 - 1. */
export function checkedSize(size: number | bigint, what: string): bigint {
  const valid = typeof size === 'bigint' ? size >= 0n : Number.isSafeInteger(size) && size >= 0;
  if (!valid) throw new RangeError(`expected ${what} as a whole number of bytes, got ${size}`);
  return BigInt(size);
}

function sameKind(result: bigint, given: number | bigint): number | bigint {
  if (typeof given === 'bigint') return result;
  if (result > Number.MAX_SAFE_INTEGER) throw new RangeError('size above 2^53 - 1: pass a bigint');
  return Number(result);
}

/**
 * Bytes of the body that `plain` bytes of plaintext become (Crypt4GH § 3.4.2). Nothing becomes nothing here, as with the Python
 * reference; some writers make one empty segment (28 bytes) of it.
 *
 * @throws RangeError when `plain` is no size, or the result is above 2^53 - 1 and `plain` no bigint.
 */
export function encryptedBodySize(plain: number): number;
export function encryptedBodySize(plain: bigint): bigint;
export function encryptedBodySize(plain: number | bigint): number | bigint {
  const bytes = checkedSize(plain, 'a plaintext size');
  const segments = (bytes + BigInt(SEGMENT_BYTES) - 1n) / BigInt(SEGMENT_BYTES);
  return sameKind(bytes + segments * BigInt(segmentOverhead), plain);
}

/**
 * Bytes of plaintext in a body of `body` bytes (Crypt4GH § 3.4.2), before any edit list.
 *
 * @throws DamagedBodyError `truncated-segment` when no body has that size; RangeError when `body` is no size.
 */
export function decryptedSize(body: number): number;
export function decryptedSize(body: bigint): bigint;
export function decryptedSize(body: number | bigint): number | bigint {
  const bytes = checkedSize(body, 'a body size');
  const full = bytes / BigInt(ENCRYPTED_SEGMENT_BYTES);
  const rest = bytes % BigInt(ENCRYPTED_SEGMENT_BYTES);
  if (rest > 0n && rest < BigInt(segmentOverhead)) {
    throw new DamagedBodyError('truncated-segment', Number(full), Number(bytes - rest), Number(bytes));
  }
  const last = rest === 0n ? 0n : rest - BigInt(segmentOverhead);
  return sameKind(full * BigInt(SEGMENT_BYTES) + last, body);
}

/** What a header holds (Crypt4GH § 3.2), by which its length can be told before it is made. */
export interface HeaderShape {
  /** Different recipients; each gets every packet. */
  readonly recipients: number;
  /** Default: 1. */
  readonly dataKeys?: number;
  /** Lengths in the edit list; default: there is none. */
  readonly editListLengths?: number | undefined;
}

/**
 * Bytes of the header that `encryptHeader` makes: 16, and for each recipient 108 for each data key and 76 + 8 k for an
 * edit list of k lengths (Crypt4GH § 2.2, § 3.2). Headers of other writers may be padded: take theirs from parsing.
 *
 * @throws RangeError when a count is no whole number.
 */
export function headerSize(shape: HeaderShape): number {
  const { recipients, dataKeys = 1, editListLengths } = shape;
  const counts = [recipients, dataKeys, editListLengths ?? 0];
  if (!counts.every((count) => Number.isSafeInteger(count) && count >= 0)) {
    throw new RangeError(`expected whole numbers of what is in a header, got ${counts.join(', ')}`);
  }
  const editList = editListLengths === undefined ? 0 : 76 + 8 * editListLengths;
  return 16 + recipients * (108 * dataKeys + editList);
}

/**
 * Bytes of the whole container that `plain` bytes of plaintext become (Crypt4GH § 2).
 *
 * @throws RangeError as {@link encryptedBodySize} and {@link headerSize}.
 */
export function encryptedSize(plain: number, header: HeaderShape): number {
  const size = headerSize(header) + encryptedBodySize(plain);
  if (!Number.isSafeInteger(size)) throw new RangeError('size above 2^53 - 1');
  return size;
}
