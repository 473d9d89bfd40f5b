import type { KeyObject } from 'node:crypto';
import { readSync, writeSync } from 'node:fs';
import { asBuffer } from './bytes.ts';
import { release, sealInto } from './sealed.ts';
import { SegmentDecryptor } from './segment-decryptor.ts';
import { ENCRYPTED_SEGMENT_BYTES, NONCE_BYTES, SEGMENT_BYTES, SEGMENT_OVERHEAD } from './sizes.ts';

/** Neighbouring segments from one open file to another, for a worker thread: their bytes never reach the calling one. */
export type FileJob = {
  /** File descriptors; they are the process's, not a thread's. */
  readonly source: number;
  readonly target: number;
  /** Where to read, how much, and where to write. */
  readonly from: number;
  readonly length: number;
  readonly to: number;
} & (
  | { readonly kind: 'decrypt-file'; readonly dataKeys: readonly KeyObject[] }
  /** The nonces of the segments, one after the other: all randomness comes from the calling thread. */
  | { readonly kind: 'encrypt-file'; readonly dataKey: KeyObject; readonly nonces: Uint8Array }
);

/** What became of a job that could be done. */
export interface FileJobResult {
  /** Segments written: all of them, or those before the first that does not authenticate. */
  readonly done: number;
}

/** Memory of this thread, as large as the largest job so far. */
let memory = Buffer.alloc(0);

/** Does the job. @throws what the file system says; Error when the source is shorter than it was. */
export function runFileJob(job: FileJob): FileJobResult {
  const count = Math.ceil(job.length / (job.kind === 'encrypt-file' ? SEGMENT_BYTES : ENCRYPTED_SEGMENT_BYTES));
  const needed = count * ENCRYPTED_SEGMENT_BYTES;
  if (memory.length < needed) memory = Buffer.allocUnsafeSlow(needed);
  const { done, size } = job.kind === 'encrypt-file' ? encryptInPlace(job, count) : decryptInPlace(job, count);
  for (let written = 0; written < size; ) {
    written += writeSync(job.target, memory, written, size - written, job.to + written);
  }
  return { done };
}

function encryptInPlace(job: Extract<FileJob, { kind: 'encrypt-file' }>, count: number) {
  // As far back as the segments grow: none is written over plaintext that is still to be read.
  const start = count * SEGMENT_OVERHEAD;
  const plaintext = memory.subarray(start, start + job.length);
  readWhole(job, plaintext);
  for (let index = 0; index < count; index += 1) {
    const piece = plaintext.subarray(index * SEGMENT_BYTES, (index + 1) * SEGMENT_BYTES);
    const nonce = asBuffer(job.nonces).subarray(index * NONCE_BYTES, (index + 1) * NONCE_BYTES);
    sealInto(memory.subarray(index * ENCRYPTED_SEGMENT_BYTES), piece, job.dataKey, nonce);
  }
  return { done: count, size: job.length + count * SEGMENT_OVERHEAD };
}

function decryptInPlace(job: Extract<FileJob, { kind: 'decrypt-file' }>, count: number) {
  const segments = memory.subarray(0, job.length);
  readWhole(job, segments);
  const decryptor = new SegmentDecryptor(job.dataKeys);
  let size = 0;
  for (let index = 0; index < count; index += 1) {
    const start = index * ENCRYPTED_SEGMENT_BYTES;
    const plaintext = decryptor.tryOpen(segments.subarray(start, start + ENCRYPTED_SEGMENT_BYTES));
    if (plaintext === undefined) return { done: index, size };
    memory.set(plaintext, size);
    size += plaintext.length;
    release(plaintext);
  }
  return { done: count, size };
}

function readWhole({ source, from }: FileJob, into: Buffer): void {
  for (let read = 0; read < into.length; ) {
    const bytes = readSync(source, into, read, into.length - read, from + read);
    if (bytes === 0) throw new Error('the source became shorter while it was read');
    read += bytes;
  }
}
