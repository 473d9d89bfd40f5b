import { createSecretKey, type KeyObject } from 'node:crypto';
import { expectLength, expectSome } from '../bytes.ts';
import { DamagedBodyError } from '../errors.ts';
import { unseal } from '../sealed.ts';
import { dataKeyBytes, ENCRYPTED_SEGMENT_BYTES, segmentOverhead } from '../sizes.ts';

/** A data key, raw or prepared. */
export type DataKey = Uint8Array | KeyObject;

/** Prepares a data key once: to give raw bytes to each cipher costs a third of a segment's time. */
export function prepareDataKey(dataKey: DataKey): KeyObject {
  if (!(dataKey instanceof Uint8Array)) return dataKey;
  expectLength(dataKey, dataKeyBytes, 'a data key');
  return createSecretKey(dataKey);
}

export function prepareDataKeys(dataKeys: readonly DataKey[]): KeyObject[] {
  expectSome(dataKeys, 'data key');
  return dataKeys.map(prepareDataKey);
}

/** Opens the segments of one body, in any order. */
export class SegmentDecryptor {
  readonly #keys: KeyObject[];

  /** @param dataKeys are copied. The last key that fitted is tried first (Crypt4GH § 3.2.3). */
  constructor(dataKeys: readonly DataKey[]) {
    this.#keys = prepareDataKeys(dataKeys);
  }

  /**
   * The plaintext of a segment, in its own memory (Crypt4GH § 3.4.2).
   */
  open(segment: Buffer, index: number): Buffer {
    if (segment.length < segmentOverhead) throw damagedSegment('truncated-segment', index, segment.length);
    const plaintext = this.tryOpen(segment);
    if (plaintext === undefined) throw damagedSegment('segment-authentication-failed', index, segment.length);
    return plaintext;
  }

  /** The same for a segment of 28 bytes or more; `undefined` if no data key authenticates it. */
  tryOpen(segment: Buffer): Buffer | undefined {
    for (const [position, key] of this.#keys.entries()) {
      const plaintext = unseal(segment, key);
      if (plaintext === undefined) continue;
      if (position > 0) this.#keys.unshift(...this.#keys.splice(position, 1));
      return plaintext;
    }
    return undefined;
  }
}

/** The error if a body ends after `present` bytes, but bytes up to `end` were asked for. */
export function truncatedBody(present: number, end: number): DamagedBodyError {
  return new DamagedBodyError('truncated-body', Math.floor(present / ENCRYPTED_SEGMENT_BYTES), present, end);
}

export function damagedSegment(code: DamagedBodyError['code'], index: number, length: number): DamagedBodyError {
  const start = index * ENCRYPTED_SEGMENT_BYTES;
  return new DamagedBodyError(code, index, start, start + length, length < ENCRYPTED_SEGMENT_BYTES);
}
