import { availableParallelism } from 'node:os';
import { BodyPlan, type PlannedSegment } from '../body/body-plan.ts';
import { PieceCutter } from '../body/pieces.ts';
import { damagedSegment, prepareDataKey, prepareDataKeys } from '../body/segment-decryptor.ts';
import type { DecryptSegmentsOptions, EncryptSegmentsOptions, SegmentCipher } from '../body/segments.ts';
import { type ByteSource, expectByteSource, systemRandom } from '../bytes.ts';
import { ENCRYPTED_SEGMENT_BYTES, nonceBytes, SEGMENT_BYTES, segmentOverhead } from '../sizes.ts';
import { type FileJob, shareFileJob, stopFileJob } from './file-job.ts';
import { SegmentBatch } from './segment-batch.ts';
import type { SegmentJob, SegmentJobResult } from './segment-job.ts';
import { WorkerPool } from './worker-pool.ts';

const defaultBatchSegments = 16;
/** Batches under way for each thread: one it works on, one that waits, so that it never has to. */
const batchesPerThread = 2;

/**
 * Encrypts and decrypts bodies (Crypt4GH § 3.4.2) on several threads. Order, bytes and errors are those of one thread; so is the memory,
 * times the batches under way. Several bodies at once share the threads.
 *
 * Close it when it is no longer needed, or bind it with `await using`. Threads without work do not keep a process alive.
 */
export class SegmentWorkers implements SegmentCipher, AsyncDisposable {
  readonly #pool: WorkerPool;
  readonly #batchSegments: number;

  /**
   * @param options.threads default: as many as the machine runs at once.
   * @param options.batchSegments segments handed to a thread in one go; default 16, which is 1 MiB.
   * @param options.workerUrl the file that a thread runs; default: `segment-worker.js` beside this one. In a bundle it is
   * to be an entry of its own.
   * @throws RangeError when a number is not a whole one from 1 on.
   */
  constructor(options: { readonly threads?: number; readonly batchSegments?: number; readonly workerUrl?: URL } = {}) {
    const { threads = availableParallelism(), batchSegments = defaultBatchSegments } = options;
    if (!Number.isSafeInteger(batchSegments) || batchSegments < 1) {
      throw new RangeError(`expected at least one segment in a batch, got ${batchSegments}`);
    }
    // A bundler that knows worker threads looks for just this expression.
    const workerUrl = options.workerUrl ?? new URL('./segment-worker.ts', import.meta.url);
    this.#pool = new WorkerPool({ threads, workerUrl });
    this.#batchSegments = batchSegments;
  }

  /** As the function of that name: with the same randomness the same bytes, and the same errors. */
  async *encryptSegments(
    source: ByteSource,
    options: EncryptSegmentsOptions,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const { random = systemRandom } = options;
    expectByteSource(source);
    const dataKey = prepareDataKey(options.dataKey);
    const makeJob = ({ bytes, lengths }: SegmentBatch<undefined>): SegmentJob => {
      const nonces = Buffer.concat(lengths.map(() => random(nonceBytes)));
      return { kind: 'encrypt', dataKey, bytes, lengths, nonces };
    };
    const batches = this.#batches(plainPieces(source));
    for await (const done of this.#inOrder(batches, makeJob)) yield* segmentsOf(done);
  }

  /** As the function of that name, with the same errors. What comes before a damaged segment is given out. */
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
    const batches = this.#batches(segments);
    for await (const done of this.#inOrder(batches, makeJob)) yield* keptOf(done);
  }

  /**
   * Does the job on all threads and waits for all of them, so that nothing is written after an error.
   *
   * @returns the segment, counted from the start of the job, that does not authenticate, if there is one.
   * @throws what the job failed with; the reason of `signal`.
   * @internal
   */
  async run(job: FileJob, signal?: AbortSignal): Promise<number | undefined> {
    signal?.throwIfAborted();
    const shares = shareFileJob(job, this.#pool.size);
    const stop = () => shares.forEach(stopFileJob);
    signal?.addEventListener('abort', stop, { once: true });
    const results = await Promise.allSettled(shares.map((share) => this.#pool.run(share)));
    signal?.removeEventListener('abort', stop);
    signal?.throwIfAborted();
    const damaged: number[] = [];
    for (const settled of results) {
      if (settled.status === 'rejected') throw settled.reason;
      if (settled.value.damaged !== undefined) damaged.push(settled.value.damaged);
    }
    return damaged.length === 0 ? undefined : Math.min(...damaged);
  }

  /** Ends the threads. What is under way fails, and so does what comes later. */
  close(): Promise<void> {
    return this.#pool.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Puts pieces together; an error of the source comes after all that came before it. */
  async *#batches<Note>(pieces: AsyncIterable<Piece<Note>>): AsyncGenerator<Batch<Note>> {
    let batch = new SegmentBatch<Note>(this.#batchSegments);
    try {
      for await (const { piece, note } of pieces) {
        batch.add(piece, note);
        if (!batch.full) continue;
        yield batch;
        batch = new SegmentBatch<Note>(this.#batchSegments);
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
      // Awaited below, unless one before it fails or the reader gives up.
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

/** A piece for a batch; it is only valid until the next one is asked for. */
interface Piece<Note> {
  readonly piece: Uint8Array;
  readonly note: Note;
}

/** A batch, or what the source failed with after the last one. */
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

/** What is wanted of the plaintext of a batch. @throws DamagedBodyError after what comes before the damaged segment. */
function* keptOf({ batch, result }: Done<PlannedSegment>): Generator<Uint8Array, void, undefined> {
  for (const [position, { index, slices }] of batch.notes.entries()) {
    if (position >= result.done) {
      throw damagedSegment('segment-authentication-failed', index, batch.lengths[position] ?? 0);
    }
    const start = position * ENCRYPTED_SEGMENT_BYTES;
    for (const { from, to } of slices) if (to > from) yield result.bytes.subarray(start + from, start + to);
  }
}
