import { createHash, type Hash } from 'node:crypto';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';

/** Size and SHA-256 of the bytes that pass. */
export class Counter {
  size = 0;
  readonly #hash: Hash = createHash('sha256');
  #digest: string | undefined;

  add(chunk: Uint8Array): void {
    this.size += chunk.length;
    this.#hash.update(chunk);
  }

  async *count(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of source) {
      this.add(chunk);
      yield chunk;
    }
  }

  /** Hex. Nothing can be added afterwards. */
  get digest(): string {
    this.#digest ??= this.#hash.digest('hex');
    return this.#digest;
  }
}

/**
 * Pass `source` on while `watch` reads the same bytes. At most about a MiB is held, whatever the two speeds. The end is
 * passed on after `watch` has resolved. An error of `watch` ends the stream.
 */
export async function* tee(
  source: AsyncIterable<Uint8Array>,
  watch: (copy: AsyncIterable<Uint8Array>) => Promise<void>,
): AsyncGenerator<Uint8Array> {
  const passed = new PassThrough({ highWaterMark: 1 << 20 });
  const iterator = source[Symbol.asyncIterator]();
  const copy: AsyncIterableIterator<Uint8Array> = {
    async next() {
      const next = await iterator.next();
      if (!next.done && !passed.write(next.value)) await once(passed, 'drain');
      return next;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
  const watching = (async () => {
    await watch(copy);
    // An edit list may let the decoder stop before the end; the body is archived whole.
    for await (const _ of copy);
    passed.end();
  })().catch((error: unknown) => void passed.destroy(error instanceof Error ? error : new Error(String(error))));
  try {
    yield* passed;
  } finally {
    passed.destroy();
  }
  await watching;
}

/** The same bytes until `signal` aborts. Then it throws the reason, even while the source is silent. */
export async function* abortable(source: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const iterator = source[Symbol.asyncIterator]();
  let abort: () => void = () => undefined;
  const listener = () => abort();
  signal.addEventListener('abort', listener);
  try {
    for (;;) {
      signal.throwIfAborted();
      // One promise a chunk. A race against one promise for the whole stream would keep every chunk in memory.
      const { promise, resolve, reject } = Promise.withResolvers<IteratorResult<Uint8Array>>();
      abort = () => reject(signal.reason);
      iterator.next().then(resolve, reject);
      const next = await promise;
      if (next.done) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener('abort', listener);
    // Not awaited: a silent source would never answer.
    iterator.return?.().catch(() => undefined);
  }
}
