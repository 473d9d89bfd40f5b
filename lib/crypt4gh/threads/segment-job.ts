import type { KeyObject } from 'node:crypto';
import { SegmentDecryptor } from '../body/segment-decryptor.ts';
import { asBuffer } from '../bytes.ts';
import { giveBack, sealInto } from '../sealed.ts';
import { ENCRYPTED_SEGMENT_BYTES, nonceBytes, SEGMENT_BYTES } from '../sizes.ts';

/**
 * Work on some segments for a worker thread. The memory is transferred to the thread and comes back with the result instead of
 * the input: nothing is copied on the way.
 */
export type SegmentJob = {
  /** Room for full segments, one after the other; each piece begins where its segment does. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Length of each piece: plaintext to encrypt, segments to decrypt. */
  readonly lengths: readonly number[];
} & (
  | {
      readonly kind: 'encrypt';
      readonly dataKey: KeyObject;
      /** The nonces of the segments, one after the other. All randomness comes from the calling thread. */
      readonly nonces: Uint8Array;
    }
  | { readonly kind: 'decrypt'; readonly dataKeys: readonly KeyObject[] }
);

/** The result of a job. */
export interface SegmentJobResult {
  /** The memory of the job, with segments or their plaintext, each behind the one before it. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Number of pieces that are done: all of them, or those before the first that does not authenticate. */
  readonly done: number;
}

/** Does the job. It runs on a worker thread, but does not depend on that. */
export function runSegmentJob(job: SegmentJob): SegmentJobResult {
  const bytes = asBuffer(job.bytes);
  const work = job.kind === 'encrypt' ? encryptor(job.dataKey, job.nonces) : decryptor(bytes, job.dataKeys);
  for (const [index, length] of job.lengths.entries()) {
    const place = bytes.subarray(index * ENCRYPTED_SEGMENT_BYTES, (index + 1) * ENCRYPTED_SEGMENT_BYTES);
    if (!work(place, length, index)) return { bytes: job.bytes, done: index };
  }
  return { bytes: job.bytes, done: job.lengths.length };
}

/** Writes the result of the first `length` bytes to the memory; `false` if they do not authenticate. */
type Work = (place: Buffer, length: number, index: number) => boolean;

function encryptor(dataKey: KeyObject, nonces: Uint8Array): Work {
  return (place, length, index) => {
    const nonce = nonces.subarray(index * nonceBytes, (index + 1) * nonceBytes);
    sealInto(place, place.subarray(0, length), dataKey, nonce);
    return true;
  };
}

function decryptor(bytes: Buffer, dataKeys: readonly KeyObject[]): Work {
  const segments = new SegmentDecryptor(dataKeys);
  return (place, length, index) => {
    const plaintext = segments.tryOpen(place.subarray(0, length));
    if (plaintext === undefined) return false;
    // This never reaches the next segment, since plaintext is shorter.
    bytes.set(plaintext, index * SEGMENT_BYTES);
    giveBack(plaintext);
    return true;
  };
}
