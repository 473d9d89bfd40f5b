import { readSync, writeSync } from 'node:fs';
import { asBuffer } from '../../lib/crypt4gh/bytes.ts';
import { release } from '../../lib/crypt4gh/sealed.ts';

const readBytes = 2 ** 18;

/*
 * Files read and written on the calling thread. Asynchronous calls of Node go to other threads, and wait for a processor
 * twice each time when there is something else to do; streams of Node take new memory for each chunk besides.
 */

/** A file in chunks, all in the same memory: for whoever is done with a chunk when asking for the next. */
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
    // The chunk is ours alone: memory that is given back at once is still in the cache when the next chunk takes it.
    release(asBuffer(chunk));
  }
}
