import type { ByteRange } from '../../../crypt4gh/index.ts';
import { type ClientError, throwIfInterrupted, UnavailableError } from '../errors.ts';
import type { Backoff } from '../retry.ts';
import type { Transport } from '../transport.ts';
import type { Target } from './disk/part-file.ts';
import { RangeSet } from './disk/range-set.ts';
import type { ObjectVersion, RemoteFile, RemoteReply } from './remote/remote-file.ts';
import { writeBytes } from './write-bytes.ts';

const defaultWholeBytes = 8 * 1024 * 1024;
const mostPieceBytes = 64 * 1024 * 1024;
/** Pieces for each connection, so that all of them end at about the same time. */
const piecesPerConnection = 4;
/** How long the open connections show what they bring before another one is opened. */
const trialMs = 100;
/** A connection that brings this much is not limited by the network: another one would cost more than it brings. */
const enoughBytes = 30e6;

export interface TransferOptions {
  readonly remote: RemoteFile;
  readonly part: Target;
  readonly connections: number;
  /** A file up to this size is fetched by one request, a larger one in pieces that are not smaller. Default: 8 MiB. */
  readonly wholeBytes?: number | undefined;
  readonly transport: Transport;
  readonly signal: AbortSignal | undefined;
  /** The bytes kept from an earlier run. */
  readonly resumed: { readonly version: ObjectVersion; readonly done: readonly ByteRange[] } | undefined;
  /** Called after bytes of the remote file are written. */
  readonly kept: (bytes: number, version: ObjectVersion, done: RangeSet) => void;
  readonly retrying: (error: ClientError) => void;
}

/** Fetches the missing bytes of one remote file, over several connections at once. */
export class Transfer {
  readonly #options: TransferOptions;
  readonly #size: number;
  /** Bytes that are written. */
  readonly #done: RangeSet;
  /** Bytes that are written or under way. */
  readonly #claimed: RangeSet;
  #version: ObjectVersion | undefined;
  /** Settles when the first request has its answer, which tells the version. */
  #pioneer: Promise<void> | undefined;

  constructor(options: TransferOptions) {
    const { remote, resumed } = options;
    this.#options = options;
    this.#version = resumed?.version;
    this.#size = resumed?.version.size ?? remote.size;
    this.#done = new RangeSet(resumed?.done);
    this.#claimed = this.#done.copy();
  }

  /** The bytes that are written, and their version; `undefined` before the first reply. */
  get state(): { readonly version: ObjectVersion; readonly done: RangeSet } | undefined {
    return this.#version && { version: this.#version, done: this.#done };
  }

  /** @returns size that the part must have, in bytes @throws ChangedError, ClientError */
  async run(): Promise<number> {
    const abort = new AbortController();
    const signal = AbortSignal.any([abort.signal, ...(this.#options.signal ? [this.#options.signal] : [])]);
    const ended = await this.#lanes(signal, abort);
    throwIfInterrupted(this.#options.signal);
    // Of several failures, throw the one that stopped the others.
    if (abort.signal.aborted) throw abort.signal.reason;
    for (const lane of ended) if (lane.status === 'rejected') throw lane.reason;
    return this.#size;
  }

  /** Opens one connection after the other, while those that are open do not bring enough. */
  async #lanes(signal: AbortSignal, abort: AbortController): Promise<readonly PromiseSettledResult<void>[]> {
    const { connections, transport } = this.#options;
    const lanes = [this.#lane(signal, abort)];
    const over = new AbortController();
    const pause = AbortSignal.any([signal, over.signal]);
    while (lanes.length < connections && !pause.aborted) {
      const before = this.#done.size;
      void Promise.allSettled(lanes).then(() => over.abort());
      // Ends early when there is nothing left to fetch.
      await transport.timing.sleep(trialMs, pause).catch(() => undefined);
      const brought = this.#done.size - before;
      if (!pause.aborted && brought < enoughBytes * lanes.length) lanes.push(this.#lane(signal, abort));
    }
    return await Promise.allSettled(lanes);
  }

  async #lane(signal: AbortSignal, abort: AbortController): Promise<void> {
    const backoff = this.#options.transport.backoff(signal);
    try {
      for (;;) {
        // The first reply says which version all other requests must be of.
        while (this.#version === undefined && this.#pioneer) await this.#pioneer;
        const piece = this.#next();
        if (piece === undefined) return;
        const before = this.#done.size;
        try {
          await this.#fetch(piece, signal);
          backoff.progressed();
        } catch (error) {
          if (this.#done.size > before) backoff.progressed();
          await this.#wait(backoff, error);
        }
      }
    } catch (error) {
      abort.abort(error);
      throw error;
    }
  }

  async #wait(backoff: Backoff, error: unknown): Promise<void> {
    if (error instanceof UnavailableError) this.#options.retrying(error);
    await backoff.failed(error);
  }

  #next(): ByteRange | undefined {
    // An empty file is asked for as well: its reply has its time.
    if (this.#size === 0 && this.#version === undefined) return { start: 0, end: 0 };
    const gap = this.#claimed.firstGap(0, this.#size);
    if (gap === undefined) return undefined;
    const range = { start: gap.start, end: Math.min(gap.end, gap.start + this.#pieceBytes()) };
    this.#claimed.add(range.start, range.end);
    return range;
  }

  #pieceBytes(): number {
    const { connections, wholeBytes = defaultWholeBytes } = this.#options;
    if (connections === 1) return Number.MAX_SAFE_INTEGER;
    const even = Math.ceil(this.#size / (connections * piecesPerConnection));
    return Math.max(wholeBytes, Math.min(mostPieceBytes, even));
  }

  async #fetch(range: ByteRange, signal: AbortSignal): Promise<void> {
    try {
      const opening = this.#open(range, signal);
      if (this.#version === undefined) {
        const settled = () => {
          this.#pioneer = undefined;
        };
        this.#pioneer = opening.then(settled, settled);
      }
      const reply = await opening;
      try {
        await writeBytes(this.#options.part, range.start, reply.bytes, (start, end) => this.#keep(start, end));
      } finally {
        await reply.discard();
      }
    } finally {
      this.#release(range);
    }
  }

  async #open(range: ByteRange, signal: AbortSignal): Promise<RemoteReply> {
    const isWhole = range.start === 0 && range.end === this.#size;
    const request = { range: isWhole ? undefined : range, known: this.#version, signal };
    const reply = await this.#options.remote.get(request);
    this.#version ??= reply.version;
    return reply;
  }

  #keep(start: number, end: number): void {
    const before = this.#done.size;
    this.#done.add(start, end);
    if (this.#version) this.#options.kept(this.#done.size - before, this.#version, this.#done);
  }

  /** Frees the bytes of a range that have not come, for any lane. */
  #release({ start, end }: ByteRange): void {
    this.#claimed.remove(start, end);
    for (const range of this.#done.ranges) {
      this.#claimed.add(Math.max(start, range.start), Math.min(end, range.end));
    }
  }
}
