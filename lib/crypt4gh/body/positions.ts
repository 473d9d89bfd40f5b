import { ENCRYPTED_SEGMENT_BYTES, encryptedBodySize, SEGMENT_BYTES } from '../sizes.ts';

declare const space: unique symbol;

/** A byte position in the plaintext before any edit list (Crypt4GH § 4.1). From {@link plainPosition}. */
export type PlainPosition = number & { readonly [space]: 'plain' };

/**
 * A byte position in the body of a container, counted from its first segment (Crypt4GH § 3.4.2). In a file, add the length
 * of the header. From {@link bodyPosition}.
 */
export type BodyPosition = number & { readonly [space]: 'body' };

/** Bytes [start, end) of the plaintext or of the body (Crypt4GH § 4.1), by the type of their positions. */
export interface ByteRange<Position extends number = number> {
  readonly start: Position;
  readonly end: Position;
}

/** A position in the plaintext (Crypt4GH § 4.1). @throws RangeError if it is not a whole number from 0 to 2^53 - 1. */
export function plainPosition(position: number): PlainPosition {
  return checked(position, 'a plaintext position') as PlainPosition;
}

/** A position in a body (Crypt4GH § 3.4.2). @throws RangeError if it is not a whole number from 0 to 2^53 - 1. */
export function bodyPosition(position: number): BodyPosition {
  return checked(position, 'a body position') as BodyPosition;
}

/** A range of plaintext (Crypt4GH § 4.1). @throws RangeError if an end is not a position, or if it ends before it starts. */
export function plainRange(start: number, end: number): ByteRange<PlainPosition> {
  return { start: plainPosition(start), end: plainPosition(notBefore(start, end)) };
}

/** A range of a body (Crypt4GH § 3.4.2). @throws RangeError if an end is not a position, or if it ends before it starts. */
export function bodyRange(start: number, end: number): ByteRange<BodyPosition> {
  return { start: bodyPosition(start), end: bodyPosition(notBefore(start, end)) };
}

/**
 * The bytes of the body that a range of plaintext needs: whole segments (Crypt4GH § 4.1), none for an empty range.
 *
 * @param options.plainSize bytes of the whole plaintext. With it, the result ends at the end of the body. Without it, the last
 * segment counts as full, so the result may go beyond the end of the body.
 * @throws RangeError if the result is above 2^53 - 1.
 */
export function encryptedRange(
  range: ByteRange<PlainPosition>,
  options: { readonly plainSize?: number } = {},
): ByteRange<BodyPosition> {
  const limit = options.plainSize ?? Number.POSITIVE_INFINITY;
  const first = Math.floor(Math.min(range.start, limit) / SEGMENT_BYTES);
  const end = Math.min(range.end, limit);
  const start = first * ENCRYPTED_SEGMENT_BYTES;
  if (end <= range.start) return bodyRange(start, start);
  const whole = Math.ceil(end / SEGMENT_BYTES) * ENCRYPTED_SEGMENT_BYTES;
  return bodyRange(start, Math.min(whole, limit === Number.POSITIVE_INFINITY ? whole : encryptedBodySize(limit)));
}

/**
 * The plaintext of the segments that a range of the body touches (Crypt4GH § 4.1). It is the reverse of
 * {@link encryptedRange}: of that function's result it returns the first range, widened to whole segments.
 *
 * @param options.plainSize bytes of the whole plaintext; without it, the last segment counts as full.
 */
export function decryptedRange(
  range: ByteRange<BodyPosition>,
  options: { readonly plainSize?: number } = {},
): ByteRange<PlainPosition> {
  const limit = options.plainSize ?? Number.POSITIVE_INFINITY;
  const start = Math.min(Math.floor(range.start / ENCRYPTED_SEGMENT_BYTES) * SEGMENT_BYTES, limit);
  if (range.end <= range.start) return plainRange(start, start);
  return plainRange(start, Math.min(Math.ceil(range.end / ENCRYPTED_SEGMENT_BYTES) * SEGMENT_BYTES, limit));
}

function checked(position: number, what: string): number {
  if (Number.isSafeInteger(position) && position >= 0) return position;
  throw new RangeError(`expected ${what} as a whole number from 0 to 2^53 - 1, got ${position}`);
}

function notBefore(start: number, end: number): number {
  if (end >= start) return end;
  throw new RangeError(`expected a range that does not end before it starts, got ${start} to ${end}`);
}
