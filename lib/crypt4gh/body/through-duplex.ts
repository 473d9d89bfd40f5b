import { Duplex } from 'node:stream';
import type { ByteSource } from '../bytes.ts';

type Callback = (error?: Error | null) => void;

/**
 * A generator over bytes as a Node stream. A written chunk counts as taken when the generator asks for the next one, so no
 * chunks pile up. Errors of either side are passed on as they are.
 */
export class ThroughDuplex extends Duplex {
  readonly #input = new WrittenChunks();
  readonly #output: AsyncIterator<Uint8Array>;
  #pumping = false;

  constructor(through: (source: ByteSource) => AsyncGenerator<Uint8Array>) {
    super();
    this.#output = through(this.#input);
  }

  override _write(chunk: Uint8Array, _encoding: BufferEncoding, done: Callback): void {
    this.#input.write(chunk, done);
  }

  override _final(done: Callback): void {
    this.#input.end();
    done();
  }

  override _read(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    this.#pump().then(
      () => {
        this.#pumping = false;
      },
      (error: Error) => this.destroy(error),
    );
  }

  override _destroy(error: Error | null, done: Callback): void {
    this.#input.fail(error ?? new Error('the stream was destroyed'));
    // An error of the generator does not matter now: the stream is not read any more.
    Promise.resolve(this.#output.return?.()).then(
      () => done(error),
      () => done(error),
    );
  }

  async #pump(): Promise<void> {
    for (let wantsMore = true; wantsMore; ) {
      const { done, value } = await this.#output.next();
      wantsMore = done !== true && this.push(value);
      if (done === true) this.push(null);
    }
  }
}

/** Hands chunks from `write` to the iteration. */
class WrittenChunks implements AsyncIterableIterator<Uint8Array, void, undefined> {
  #chunk: Uint8Array | undefined;
  /** Called when the chunk has been used. */
  #taken: Callback | undefined;
  #state: 'open' | 'ended' | 'given up' | { readonly error: Error } = 'open';
  #wake: (() => void) | undefined;

  write(chunk: Uint8Array, taken: Callback): void {
    // The iteration has ended early, as after the last keep of an edit list: further chunks are dropped.
    if (this.#state === 'given up') {
      taken();
      return;
    }
    this.#chunk = chunk;
    this.#taken = taken;
    this.#wake?.();
  }

  end(): void {
    if (this.#state === 'open') this.#state = 'ended';
    this.#wake?.();
  }

  fail(error: Error): void {
    this.#state = { error };
    this.#wake?.();
  }

  async next(): Promise<IteratorResult<Uint8Array, void>> {
    this.#release();
    while (this.#chunk === undefined && this.#state === 'open') {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    if (typeof this.#state === 'object') throw this.#state.error;
    const value = this.#chunk;
    this.#chunk = undefined;
    return value === undefined ? { done: true, value: undefined } : { done: false, value };
  }

  async return(): Promise<IteratorResult<Uint8Array, void>> {
    if (typeof this.#state !== 'object') this.#state = 'given up';
    this.#chunk = undefined;
    this.#release();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #release(): void {
    // A chunk that is still here is not used yet.
    if (this.#chunk !== undefined) return;
    const taken = this.#taken;
    this.#taken = undefined;
    taken?.();
  }
}
