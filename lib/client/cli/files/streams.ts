import type { RandomAccessSource } from '../../../crypt4gh/index.ts';
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

/** `first`, then `rest`, read by position. */
export function joinedSource(first: Uint8Array, rest: RandomAccessSource): RandomAccessSource {
  return {
    size: rest.size === undefined ? undefined : first.length + rest.size,
    async read(offset, length) {
      if (offset >= first.length) return await rest.read(offset - first.length, length);
      const begin = first.subarray(offset, offset + length);
      if (begin.length === length) return begin;
      return Buffer.concat([begin, await rest.read(0, length - begin.length)]);
    },
  };
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
