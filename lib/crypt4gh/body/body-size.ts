import { ENCRYPTED_SEGMENT_BYTES, encryptedBodySize, SEGMENT_BYTES, segmentOverhead } from '../sizes.ts';
import { damagedSegment, truncatedBody } from './segment-decryptor.ts';

/**
 * Checks a body that is read in order against the expected size of its plaintext. This finds missing segments at the end,
 * which the format itself does not show (Crypt4GH § 1.1, § 5.4).
 */
export class BodySizeCheck {
  /** Bytes of the body. */
  readonly bodySize: number;
  readonly #plainSize: number;

  /** @param plainSize bytes of the plaintext before any edit list. */
  constructor(plainSize: number) {
    this.#plainSize = plainSize;
    this.bodySize = encryptedBodySize(plainSize);
  }

  segment(index: number, length: number): void {
    const start = index * ENCRYPTED_SEGMENT_BYTES;
    const expected = Math.min(ENCRYPTED_SEGMENT_BYTES, this.bodySize - start);
    if (length === expected) return;
    // Some writers add an empty segment to a body of full segments, or of none (Crypt4GH § 3.4.2 does not forbid it).
    if (expected === 0 && length === segmentOverhead && this.#plainSize % SEGMENT_BYTES === 0) return;
    throw damagedSegment(length < expected ? 'truncated-segment' : 'oversized-body', index, length);
  }

  end(segments: number): void {
    const start = segments * ENCRYPTED_SEGMENT_BYTES;
    if (start < this.bodySize) throw truncatedBody(start, this.bodySize);
  }

  /** Checks the size of a whole body. */
  whole(bodySize: number): void {
    const full = Math.floor(bodySize / ENCRYPTED_SEGMENT_BYTES);
    const rest = bodySize % ENCRYPTED_SEGMENT_BYTES;
    if (full > 0) this.segment(full - 1, ENCRYPTED_SEGMENT_BYTES);
    if (rest > 0) this.segment(full, rest);
    else this.end(full);
  }
}
