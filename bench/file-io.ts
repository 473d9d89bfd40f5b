import { readSync, writeSync } from 'node:fs';
import { asBuffer } from '../lib/crypt4gh/bytes.ts';
import { release } from '../lib/crypt4gh/sealed.ts';

const readBytes = 2 ** 18;

/*
 * Files read and written on the calling thread. Asynchronous calls of Node go to other threads: on a busy machine each waits
 * for a processor twice. Streams of Node also take new memory for each chunk.
 */

/** A file in chunks, all in the same memory: the caller must be done with a chunk when it asks for the next. */
export function* chunksOf(file: number): Generator<Buffer, void, undefined> {
  const memory = Buffer.allocUnsafeSlow(readBytes);
  for (;;) {
    const bytes = readSync(file, memory);
    if (bytes === 0) return;
    yield memory.subarray(0, bytes);
  }
}

/** Writes all of `source`, a chunk at a time. */
export async function writeAll(file: number, source: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const chunk of source) {
    const written = writeSync(file, chunk);
    if (written !== chunk.length) throw new Error(`wrote ${written} of ${chunk.length} bytes`);
    // The chunk is ours alone. Memory that is freed at once is still in the cache when the next chunk takes it.
    release(asBuffer(chunk));
  }
}
