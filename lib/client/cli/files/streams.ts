import { type ByteRangeOption, checkWithin } from '../range.ts';

type Chunks = AsyncIterable<Uint8Array>;

/** The same chunks; `onBytes` gets the size of each. */
export async function* counted(source: Chunks, onBytes: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  for await (const chunk of source) {
    onBytes(chunk.length);
    yield chunk;
  }
}

/** `first`, then `rest`. */
export async function* joined(first: Uint8Array, rest: Chunks): AsyncGenerator<Uint8Array> {
  yield first;
  yield* rest;
}

/**
 * The bytes of a range. The source is read no further than its end. @throws UsageError when it ends before the range
 * begins
 */
export async function* sliced(source: Chunks, range: ByteRangeOption): AsyncGenerator<Uint8Array> {
  const { start, end } = range;
  let position = 0;
  for await (const chunk of source) {
    const part = chunk.subarray(
      Math.max(0, start - position),
      end === undefined ? undefined : Math.max(0, end - position),
    );
    position += chunk.length;
    if (part.length > 0) yield part;
    if (end !== undefined && position >= end) return;
  }
  checkWithin(range, position);
}
