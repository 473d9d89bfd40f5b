import type { KeyObject } from 'node:crypto';
import { SegmentDecryptor } from '../body/segment-decryptor.ts';
import { asBuffer } from '../bytes.ts';
import { release, sealInto } from '../sealed.ts';
import { ENCRYPTED_SEGMENT_BYTES, nonceBytes } from '../sizes.ts';

/**
 * Some segments' worth of work for a worker thread. The memory goes to the thread and comes back with the result in
 * place of what was in it: nothing is copied on the way.
 */
export type SegmentJob = {
  /** Place for full segments, one after the other; each piece begins where its segment does. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Length of each piece: plaintext to encrypt, segments to decrypt. */
  readonly lengths: readonly number[];
} & (
  | {
      readonly kind: 'encrypt';
      readonly dataKey: KeyObject;
      /** The nonces of the segments, one after the other: all randomness comes from the calling thread. */
      readonly nonces: Uint8Array;
    }
  | { readonly kind: 'decrypt'; readonly dataKeys: readonly KeyObject[] }
);

/** What became of a job. */
export interface SegmentJobResult {
  /** The memory of the job: segments or their plaintext, each where its piece was. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** How many are done: all of them, or those before the first that does not authenticate. */
  readonly done: number;
}

/** Does the job: on a worker thread, but nothing here depends on that. */
export function runSegmentJob(job: SegmentJob): SegmentJobResult {
  const bytes = asBuffer(job.bytes);
  const work = job.kind === 'encrypt' ? encryptor(job.dataKey, job.nonces) : decryptor(job.dataKeys);
  for (const [index, length] of job.lengths.entries()) {
    const place = bytes.subarray(index * ENCRYPTED_SEGMENT_BYTES, (index + 1) * ENCRYPTED_SEGMENT_BYTES);
    if (!work(place, length, index)) return { bytes: job.bytes, done: index };
  }
  return { bytes: job.bytes, done: job.lengths.length };
}

/** Puts the result in the place of the first `length` bytes; `false` when there is none. */
type Work = (place: Buffer, length: number, index: number) => boolean;

function encryptor(dataKey: KeyObject, nonces: Uint8Array): Work {
  return (place, length, index) => {
    const nonce = nonces.subarray(index * nonceBytes, (index + 1) * nonceBytes);
    sealInto(place, place.subarray(0, length), dataKey, nonce);
    return true;
  };
}

function decryptor(dataKeys: readonly KeyObject[]): Work {
  const segments = new SegmentDecryptor(dataKeys);
  return (place, length) => {
    const plaintext = segments.tryOpen(place.subarray(0, length));
    if (plaintext === undefined) return false;
    place.set(plaintext);
    release(plaintext);
    return true;
  };
}
