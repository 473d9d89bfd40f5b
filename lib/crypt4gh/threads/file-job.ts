import type { KeyObject } from 'node:crypto';
import { readSync, writeSync } from 'node:fs';
import { SegmentDecryptor } from '../body/segment-decryptor.ts';
import { giveBack, seal } from '../sealed.ts';
import { ENCRYPTED_SEGMENT_BYTES, nonceBytes, SEGMENT_BYTES } from '../sizes.ts';

/** Segments of one read: 256 KiB. A larger read leaves the cache before it is worked on. */
const readSegments = 4;

/** Work on neighbouring segments from one open file to another. Their bytes never reach the calling thread. */
export type FileJob = {
  /** File descriptors, which all threads of the process share. */
  readonly source: number;
  readonly target: number;
  /** Position to read from, bytes to read, and position to write to. */
  readonly from: number;
  readonly length: number;
  readonly to: number;
} & (
  | { readonly kind: 'decrypt-file'; readonly dataKeys: readonly KeyObject[] }
  /** The nonces of the segments, one after the other. All randomness comes from the calling thread. */
  | { readonly kind: 'encrypt-file'; readonly dataKey: KeyObject; readonly nonces: Uint8Array }
);

/** A job for several threads at once. Each thread takes the first segments that no thread has taken yet. */
export type SharedFileJob = FileJob & { readonly next: SharedArrayBuffer };

/** The result of one thread's share. */
export interface FileJobResult {
  /** The segment, counted from the start of the job, that does not authenticate. */
  readonly damaged?: number;
}

/** The job for each of so many threads, or for fewer if it has too few segments for all. */
export function shareFileJob(job: FileJob, threads: number): SharedFileJob[] {
  const next = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  const takers = Math.ceil(sizesOf(job).segments / readSegments);
  return Array.from({ length: Math.min(threads, takers) }, () => ({ ...job, next }));
}

/**
 * Does a share of the job. After an error or a damaged segment no thread takes more segments. Each thread finishes those that
 * it has taken: they may stand before the damaged one.
 */
export function runFileJob(job: SharedFileJob): FileJobResult {
  const { segments, bytesToRead, bytesToWrite } = sizesOf(job);
  const next = new Int32Array(job.next);
  const make = job.kind === 'encrypt-file' ? encryptor(job) : decryptor(job);
  try {
    for (;;) {
      const first = Atomics.add(next, 0, readSegments);
      if (first >= segments) return {};
      const bytes = readWhole(job, first * bytesToRead, readSegments * bytesToRead);
      for (let segment = first; segment < Math.min(first + readSegments, segments); segment += 1) {
        const start = (segment - first) * bytesToRead;
        const made = make(bytes.subarray(start, start + bytesToRead), segment);
        if (made === undefined) return { damaged: segment };
        writeWhole(job, made, segment * bytesToWrite);
      }
    }
  } finally {
    Atomics.store(next, 0, segments);
  }
}

function sizesOf({ kind, length }: FileJob) {
  const [bytesToRead, bytesToWrite] =
    kind === 'encrypt-file' ? [SEGMENT_BYTES, ENCRYPTED_SEGMENT_BYTES] : [ENCRYPTED_SEGMENT_BYTES, SEGMENT_BYTES];
  return { bytesToRead, bytesToWrite, segments: Math.ceil(length / bytesToRead) };
}

/** Makes the bytes to write from the bytes read, in new memory; `undefined` if they do not authenticate. */
type Make = (bytes: Buffer, segment: number) => Buffer | undefined;

function encryptor({ dataKey, nonces }: Extract<FileJob, { kind: 'encrypt-file' }>): Make {
  return (plaintext, segment) => {
    return seal(plaintext, dataKey, nonces.subarray(segment * nonceBytes, (segment + 1) * nonceBytes));
  };
}

function decryptor({ dataKeys }: Extract<FileJob, { kind: 'decrypt-file' }>): Make {
  const segments = new SegmentDecryptor(dataKeys);
  return (bytes) => segments.tryOpen(bytes);
}

/** Memory for the reads of this thread, taken at the first one. */
let memory: Buffer | undefined;

/** Reads the `length` bytes from `start` on, or those up to the end of the job. */
function readWhole(job: FileJob, start: number, length: number): Buffer {
  memory ??= Buffer.allocUnsafeSlow(readSegments * ENCRYPTED_SEGMENT_BYTES);
  const wanted = memory.subarray(0, Math.min(length, job.length - start));
  for (let read = 0; read < wanted.length; ) {
    const bytes = readSync(job.source, wanted, read, wanted.length - read, job.from + start + read);
    if (bytes === 0) throw new Error('the source became shorter while it was read');
    read += bytes;
  }
  return wanted;
}

function writeWhole({ target, to }: FileJob, bytes: Buffer, start: number): void {
  for (let written = 0; written < bytes.length; ) {
    written += writeSync(target, bytes, written, bytes.length - written, to + start + written);
  }
  giveBack(bytes);
}
