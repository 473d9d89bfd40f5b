import { createSecretKey, type KeyObject } from 'node:crypto';
import { expectLength } from './bytes.ts';
import { DamagedBodyError } from './errors.ts';
import { unseal } from './sealed.ts';
import { ENCRYPTED_SEGMENT_BYTES, encryptedBodySize, SEGMENT_BYTES, SEGMENT_OVERHEAD } from './sizes.ts';

export const DATA_KEY_BYTES = 32;

/**
 * A data key made ready once: handing raw bytes to each cipher costs a third of a segment's time.
 *
 * @throws RangeError when it is not 32 bytes.
 */
export function prepareDataKey(dataKey: Uint8Array): KeyObject {
  expectLength(dataKey, DATA_KEY_BYTES, 'a data key');
  return createSecretKey(dataKey);
}

/** Opens the segments of one body, in any order. */
export class SegmentDecryptor {
  readonly #keys: KeyObject[];

  /**
   * @param dataKeys 32 bytes each; copied. The key that fitted last is tried first (Crypt4GH § 3.2.3).
   * @throws RangeError when there is none or one is not 32 bytes.
   */
  constructor(dataKeys: readonly Uint8Array[]) {
    if (dataKeys.length === 0) throw new RangeError('expected at least one data key');
    this.#keys = dataKeys.map(prepareDataKey);
  }

  /**
   * The plaintext of a segment, in memory of its own (Crypt4GH § 3.4.2).
   *
   * @param index of the segment in the body, for the error.
   * @throws DamagedBodyError
   */
  open(segment: Buffer, index: number): Buffer {
    if (segment.length < SEGMENT_OVERHEAD) throw damagedSegment('truncated-segment', index, segment.length);
    for (const [position, key] of this.#keys.entries()) {
      const plaintext = unseal(segment, key);
      if (plaintext === undefined) continue;
      if (position > 0) this.#keys.unshift(...this.#keys.splice(position, 1));
      return plaintext;
    }
    throw damagedSegment('segment-authentication-failed', index, segment.length);
  }
}

export function damagedSegment(code: DamagedBodyError['code'], index: number, length: number): DamagedBodyError {
  const start = index * ENCRYPTED_SEGMENT_BYTES;
  return new DamagedBodyError(code, index, start, start + length);
}

/**
 * Holds a body that is read in order against the size that its plaintext should have. This is what shows segments that
 * are missing at the end, which the format itself cannot (Crypt4GH § 1.1, § 5.4).
 */
export class BodySizeCheck {
  /** Bytes of the body. */
  readonly bodySize: number;
  readonly #plainSize: number;

  /** @param plainSize bytes of the plaintext before any edit list. @throws RangeError when that is no size. */
  constructor(plainSize: number) {
    this.#plainSize = plainSize;
    this.bodySize = encryptedBodySize(plainSize);
  }

  /** @throws DamagedBodyError when a segment of `length` bytes cannot stand there. */
  segment(index: number, length: number): void {
    const start = index * ENCRYPTED_SEGMENT_BYTES;
    const expected = Math.min(ENCRYPTED_SEGMENT_BYTES, this.bodySize - start);
    if (length === expected) return;
    // Some writers end a body of full segments, or of none, by an empty one (Crypt4GH § 3.4.2 does not forbid it).
    if (expected === 0 && length === SEGMENT_OVERHEAD && this.#plainSize % SEGMENT_BYTES === 0) return;
    throw damagedSegment(length < expected ? 'truncated-segment' : 'oversized-body', index, length);
  }

  /** @throws DamagedBodyError when the body ends after so many segments, and that is too early. */
  end(segments: number): void {
    const start = segments * ENCRYPTED_SEGMENT_BYTES;
    if (start < this.bodySize) throw new DamagedBodyError('truncated-body', segments, start, this.bodySize);
  }

  /** The same for a body whose size is known at once. @throws DamagedBodyError */
  whole(bodySize: number): void {
    const full = Math.floor(bodySize / ENCRYPTED_SEGMENT_BYTES);
    const rest = bodySize % ENCRYPTED_SEGMENT_BYTES;
    if (full > 0) this.segment(full - 1, ENCRYPTED_SEGMENT_BYTES);
    if (rest > 0) this.segment(full, rest);
    else this.end(full);
  }
}
