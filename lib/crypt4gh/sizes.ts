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

/** Another number than a whole one from 0 to 2^53 - 1 is an error of the caller, not of the data. */
export function expectSize(size: number, what: string): void {
  if (Number.isSafeInteger(size) && size >= 0) return;
  throw new RangeError(`expected ${what} as a whole number of bytes, got ${size}`);
}

/**
 * Bytes of the body of a plaintext of `plain` bytes (Crypt4GH § 3.4.2). An empty plaintext has an empty body, as with the
 * Python reference; some writers give it one empty segment of 28 bytes.
 */
export function encryptedBodySize(plain: number): number {
  expectSize(plain, 'a plaintext size');
  const size = plain + Math.ceil(plain / SEGMENT_BYTES) * segmentOverhead;
  expectSize(size, 'a body size');
  return size;
}

/** Bytes of plaintext in a body of `body` bytes (Crypt4GH § 3.4.2), before any edit list. Not every size is one of a body. */
export function decryptedSize(body: number): number {
  expectSize(body, 'a body size');
  const full = Math.floor(body / ENCRYPTED_SEGMENT_BYTES);
  const rest = body % ENCRYPTED_SEGMENT_BYTES;
  if (rest > 0 && rest < segmentOverhead) throw new DamagedBodyError('truncated-segment', full, body - rest, body);
  return full * SEGMENT_BYTES + Math.max(0, rest - segmentOverhead);
}

/** The contents of a header (Crypt4GH § 3.2) that decide its length. */
interface HeaderShape {
  /** Number of different recipients; each gets every packet. */
  readonly recipients: number;
  /** Number of lengths in the edit list; default: there is no edit list. */
  readonly editListLengths?: number;
}

/**
 * Bytes of a header with one data key (Crypt4GH § 2.2, § 3.2): 16, and for each recipient 108 for the key and 76 + 8 k for an edit list
 * of k lengths. Headers of other writers may be padded.
 */
export function headerSize({ recipients, editListLengths }: HeaderShape): number {
  return 16 + recipients * (108 + (editListLengths === undefined ? 0 : 76 + 8 * editListLengths));
}
