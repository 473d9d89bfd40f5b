import { DamagedBodyError } from './errors.ts';

/** Plaintext bytes of a full segment (Crypt4GH § 3.4.2). */
// biome-ignore lint/style/useNamingConvention: users of the package import this name.
export const SEGMENT_BYTES = 65_536;
/** Bytes of a data key (Crypt4GH § 3.2.3). */
export const dataKeyBytes = 32;
/** Nonce and MAC bytes around the ciphertext (Crypt4GH § 3.4.2). */
export const nonceBytes = 12;
export const macBytes = 16;
/** Bytes that encryption adds to a segment or a packet. */
export const segmentOverhead = nonceBytes + macBytes;
/** Bytes of a full segment in the body (Crypt4GH § 3.4.2). */
// biome-ignore lint/style/useNamingConvention: users of the package import this name.
export const ENCRYPTED_SEGMENT_BYTES = SEGMENT_BYTES + segmentOverhead;

/** The size as a bigint. @throws RangeError if it is negative, not a whole number, or a number above 2^53 - 1. */
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
 * Bytes of the body of a plaintext of `plain` bytes (Crypt4GH § 3.4.2). An empty plaintext has an empty body, as with the
 * Python reference; some writers give it one empty segment of 28 bytes.
 *
 * @throws RangeError if `plain` is not a size, or if it is a number and the result is above 2^53 - 1.
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
 * @throws DamagedBodyError `truncated-segment` if no body has that size; RangeError if `body` is not a size.
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

/** The contents of a header (Crypt4GH § 3.2) that decide its length. */
export interface HeaderShape {
  /** Number of different recipients; each gets every packet. */
  readonly recipients: number;
  /** Number of data keys; default: 1. */
  readonly dataKeys?: number;
  /** Number of lengths in the edit list; default: there is no edit list. */
  readonly editListLengths?: number | undefined;
}

/**
 * Bytes of the header that `encryptHeader` makes (Crypt4GH § 2.2, § 3.2): 16, and for each recipient 108 for each data key and
 * 76 + 8 k for an edit list of k lengths. Headers of other writers may be padded: use {@link headerLength} for those.
 *
 * @throws RangeError if a count is not a whole number.
 */
export function headerSize(shape: HeaderShape): number {
  const { recipients, dataKeys = 1, editListLengths } = shape;
  const counts = [recipients, dataKeys, editListLengths ?? 0];
  if (!counts.every((count) => Number.isSafeInteger(count) && count >= 0)) {
    throw new RangeError(`expected counts of a header's contents as whole numbers, got ${counts.join(', ')}`);
  }
  const editList = editListLengths === undefined ? 0 : 76 + 8 * editListLengths;
  return 16 + recipients * (108 * dataKeys + editList);
}

/**
 * Bytes of the whole container of a plaintext of `plain` bytes (Crypt4GH § 2).
 *
 * @throws RangeError as {@link encryptedBodySize} and {@link headerSize}.
 */
export function encryptedSize(plain: number, header: HeaderShape): number {
  const size = headerSize(header) + encryptedBodySize(plain);
  if (!Number.isSafeInteger(size)) throw new RangeError('size above 2^53 - 1');
  return size;
}
