import { availableParallelism } from 'node:os';
import { BodyPlan, type PlannedSegment } from '../body/body-plan.ts';
import { PieceCutter } from '../body/pieces.ts';
import { damagedSegment, prepareDataKey, prepareDataKeys } from '../body/segment-decryptor.ts';
import type { DecryptSegmentsOptions, EncryptSegmentsOptions, SegmentCipher } from '../body/segments.ts';
import { type ByteSource, expectByteSource, expectOne, systemRandom } from '../bytes.ts';
import { ENCRYPTED_SEGMENT_BYTES, nonceBytes, SEGMENT_BYTES, segmentOverhead } from '../sizes.ts';
import { type FileJob, shareFileJob } from './file-job.ts';
import { type BatchMemory, SegmentBatch } from './segment-batch.ts';
import type { SegmentJob, SegmentJobResult } from './segment-job.ts';
import { WorkerPool } from './worker-pool.ts';

const defaultBatchSegments = 16;
/** Batches under way for each thread: one in work and one in waiting, so that the thread never waits. */
const batchesPerThread = 2;

/**
 * Encrypts and decrypts bodies (Crypt4GH § 3.4.2) on several threads. Order, bytes and errors are those of one thread. Memory
 * grows with the batches under way. Several bodies at once share the threads.
 *
 * Close it after use, or bind it with `await using`. Threads without work do not keep a process alive.
 */
export class SegmentWorkers implements SegmentCipher, AsyncDisposable {
  readonly #pool: WorkerPool;
  readonly #batchSegments: number;

  /**
   * @param options.batchSegments segments of one message to a thread; default 16, which is 1 MiB.
   * @param options.workerUrl the file that a thread runs; default: `segment-worker.js` beside this one. In a bundle it must be
   * a separate entry.
   */
  constructor(options: { readonly threads?: number; readonly batchSegments?: number; readonly workerUrl?: URL } = {}) {
    const { threads = availableParallelism(), batchSegments = defaultBatchSegments } = options;
    expectOne(batchSegments, 'segment in a batch');
    // Bundlers that support worker threads look for exactly this expression.
    const workerUrl = options.workerUrl ?? new URL('./segment-worker.ts', import.meta.url);
    this.#pool = new WorkerPool({ threads, workerUrl });
    this.#batchSegments = batchSegments;
  }

  /** As the function of that name, with the same bytes for the same randomness, and the same errors. */
  async *encryptSegments(
    source: ByteSource,
    options: EncryptSegmentsOptions,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const { random = systemRandom, reuseMemory = false } = options;
    expectByteSource(source);
    const dataKey = prepareDataKey(options.dataKey);
    const makeJob = ({ bytes, lengths }: SegmentBatch<undefined>): SegmentJob => {
      const nonces = Buffer.concat(lengths.map(() => random(nonceBytes)));
      return { kind: 'encrypt', dataKey, bytes, lengths, nonces };
    };
    const free: BatchMemory[] = [];
    const batches = this.#batches(plainPieces(source), free);
    for await (const done of this.#inOrder(batches, makeJob)) {
      if (!reuseMemory) {
        yield* segmentsOf(done);
        continue;
      }
      yield allSegmentsOf(done);
      free.push(done.result.bytes);
    }
  }

  /** As the function of that name, with the same errors. Plaintext before a damaged segment is given out. */
  async *decryptSegments(
    source: ByteSource,
    options: DecryptSegmentsOptions,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    expectByteSource(source);
    const dataKeys = prepareDataKeys(options.dataKeys);
    const segments = plannedSegments(source, new BodyPlan(options));
    const makeJob = ({ bytes, lengths }: SegmentBatch<PlannedSegment>): SegmentJob => {
      return { kind: 'decrypt', dataKeys, bytes, lengths };
    };
    const free: BatchMemory[] = [];
    const batches = this.#batches(segments, free);
    for await (const done of this.#inOrder(batches, makeJob)) {
      yield* keptOf(done);
      if (options.reuseMemory) free.push(done.result.bytes);
    }
  }

  /**
   * Does the job on all threads and waits for all of them, so that no thread writes after an error.
   *
   * @returns the first segment that does not authenticate, counted from the start of the job; `undefined`: all do.
   * @internal
   */
  async run(job: FileJob): Promise<number | undefined> {
    const shares = shareFileJob(job, this.#pool.size);
    const results = await Promise.allSettled(shares.map((share) => this.#pool.run(share)));
    const damaged: number[] = [];
    for (const settled of results) {
      if (settled.status === 'rejected') throw settled.reason;
      if (settled.value.damaged !== undefined) damaged.push(settled.value.damaged);
    }
    return damaged.length === 0 ? undefined : Math.min(...damaged);
  }

  /** Ends the threads. Work under way fails, and so does later work. */
  close(): Promise<void> {
    return this.#pool.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Joins pieces to batches. An error of the source follows the pieces before it. @param free memory to use again */
  async *#batches<Note>(pieces: AsyncIterable<Piece<Note>>, free: BatchMemory[]): AsyncGenerator<Batch<Note>> {
    let batch = new SegmentBatch<Note>(this.#batchSegments, free.pop());
    try {
      for await (const { piece, note } of pieces) {
        batch.add(piece, note);
        if (!batch.full) continue;
        yield batch;
        batch = new SegmentBatch<Note>(this.#batchSegments, free.pop());
      }
    } catch (error) {
      if (!batch.empty) yield batch;
      yield { error };
      return;
    }
    if (!batch.empty) yield batch;
  }

  async *#inOrder<Note>(
    batches: AsyncIterable<Batch<Note>>,
    makeJob: (batch: SegmentBatch<Note>) => SegmentJob,
  ): AsyncGenerator<Done<Note>, void, undefined> {
    const underWay: Promise<Done<Note>>[] = [];
    for await (const batch of batches) {
      const done = 'error' in batch ? Promise.reject(batch.error) : this.#run(batch, makeJob);
      // Awaited below, unless an earlier one fails or the reader stops.
      done.catch(() => undefined);
      underWay.push(done);
      if (underWay.length < this.#pool.size * batchesPerThread) continue;
      const [first] = underWay.splice(0, 1);
      if (first !== undefined) yield await first;
    }
    for (const done of underWay) yield await done;
  }

  async #run<Note>(batch: SegmentBatch<Note>, makeJob: (batch: SegmentBatch<Note>) => SegmentJob): Promise<Done<Note>> {
    return { batch, result: await this.#pool.run(makeJob(batch)) };
  }
}

/** A piece for a batch. It is valid only until the next one is asked for. */
interface Piece<Note> {
  readonly piece: Uint8Array;
  readonly note: Note;
}

/** A batch, or the error of the source after the last batch. */
type Batch<Note> = SegmentBatch<Note> | { readonly error: unknown };

interface Done<Note> {
  readonly batch: SegmentBatch<Note>;
  readonly result: SegmentJobResult;
}

async function* plainPieces(source: ByteSource): AsyncGenerator<Piece<undefined>, void, undefined> {
  const cutter = new PieceCutter(SEGMENT_BYTES);
  for await (const chunk of source) for (const piece of cutter.push(chunk)) yield { piece, note: undefined };
  const rest = cutter.rest();
  if (rest.length > 0) yield { piece: rest, note: undefined };
}

async function* plannedSegments(
  source: ByteSource,
  plan: BodyPlan,
): AsyncGenerator<Piece<PlannedSegment>, void, undefined> {
  const cutter = new PieceCutter(ENCRYPTED_SEGMENT_BYTES);
  for await (const chunk of source) {
    for (const piece of cutter.push(chunk)) {
      const note = plan.next(piece.length);
      if (note !== undefined) yield { piece, note };
    }
    if (plan.finished) return;
  }
  const rest = cutter.rest();
  const note = rest.length > 0 ? plan.next(rest.length) : undefined;
  if (note !== undefined) yield { piece: rest, note };
  plan.end();
}

function* segmentsOf({ batch, result }: Done<undefined>): Generator<Uint8Array, void, undefined> {
  for (const [position, length] of batch.lengths.entries()) {
    const start = position * ENCRYPTED_SEGMENT_BYTES;
    yield result.bytes.subarray(start, start + length + segmentOverhead);
  }
}

/** All segments of a batch in one piece: each but the last of the body is full. */
function allSegmentsOf({ batch, result }: Done<undefined>): Uint8Array {
  const last = batch.lengths.length - 1;
  return result.bytes.subarray(0, last * ENCRYPTED_SEGMENT_BYTES + (batch.lengths[last] ?? 0) + segmentOverhead);
}

/** The wanted plaintext of a batch, neighbouring parts in one piece. */
function* keptOf({ batch, result }: Done<PlannedSegment>): Generator<Uint8Array, void, undefined> {
  let start = 0;
  let end = 0;
  for (const [position, { slices }] of batch.notes.slice(0, result.done).entries()) {
    for (const { from, to } of slices) {
      const begin = position * SEGMENT_BYTES + from;
      if (begin !== end) {
        if (end > start) yield result.bytes.subarray(start, end);
        start = begin;
      }
      end = position * SEGMENT_BYTES + to;
    }
  }
  if (end > start) yield result.bytes.subarray(start, end);
  const damaged = batch.notes[result.done];
  if (damaged === undefined) return;
  throw damagedSegment('segment-authentication-failed', damaged.index, batch.lengths[result.done] ?? 0);
}
