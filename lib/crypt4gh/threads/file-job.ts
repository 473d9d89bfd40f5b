import type { KeyObject } from 'node:crypto';
import { readSync, writeSync } from 'node:fs';
import { SegmentDecryptor } from '../body/segment-decryptor.ts';
import { release, seal } from '../sealed.ts';
import { ENCRYPTED_SEGMENT_BYTES, nonceBytes, SEGMENT_BYTES } from '../sizes.ts';

/** Segments that a thread reads in one go: 256 KiB. What is larger has left the cache before it is worked on. */
const readSegments = 4;

/** Neighbouring segments from one open file to another: their bytes never reach the calling thread. */
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

/** A job for several threads at once, each of which takes what comes next: the first segment that nobody has taken. */
export type SharedFileJob = FileJob & { readonly next: SharedArrayBuffer };

/** What became of what one thread took. */
export interface FileJobResult {
  /** The segment, counted from the start of the job, that does not authenticate. */
  readonly damaged?: number;
}

/** The same job for each of so many threads, or for as many as find something to do. */
export function shareFileJob(job: FileJob, threads: number): SharedFileJob[] {
  const next = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  const takers = Math.ceil(sizesOf(job).segments / readSegments);
  return Array.from({ length: Math.min(threads, takers) }, () => ({ ...job, next }));
}

/** No thread takes more of the job. */
export function stopFileJob(job: SharedFileJob): void {
  Atomics.store(new Int32Array(job.next), 0, sizesOf(job).segments);
}

/**
 * Does as much of the job as the other threads leave. At the first error and the first damaged segment all of them stop,
 * as soon as they have done what they have taken: it may lie in front.
 *
 * @throws what the file system says; Error when the source is shorter than it was.
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
    stopFileJob(job);
  }
}

function sizesOf({ kind, length }: FileJob) {
  const [bytesToRead, bytesToWrite] =
    kind === 'encrypt-file' ? [SEGMENT_BYTES, ENCRYPTED_SEGMENT_BYTES] : [ENCRYPTED_SEGMENT_BYTES, SEGMENT_BYTES];
  return { bytesToRead, bytesToWrite, segments: Math.ceil(length / bytesToRead) };
}

/** What to write for what was read, in memory of its own; `undefined` when that does not authenticate. */
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

/** Memory of this thread for what it reads, once it does. */
let memory: Buffer | undefined;

/** The `length` bytes from `start` on, or those up to the end of the job. */
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
  release(bytes);
}
