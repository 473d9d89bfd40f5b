import { readSync, writevSync } from 'node:fs';
import { asBuffer } from '../../lib/crypt4gh/bytes.ts';
import { release } from '../../lib/crypt4gh/sealed.ts';

const READ_BYTES = 2 ** 18;
/** Segments that are written in one go: 256 KiB. What is larger leaves the cache before the kernel copies it. */
const WRITE_CHUNKS = 4;

/*
 * Files read and written on the calling thread. Asynchronous calls of Node go to other threads, and wait for a processor
 * twice each time when there is something else to do; streams of Node take new memory for each chunk besides.
 */

/** A file in chunks, all in the same memory: for whoever is done with a chunk when asking for the next. */
export function* chunksOf(file: number): Generator<Buffer, void, undefined> {
  const memory = Buffer.allocUnsafeSlow(READ_BYTES);
  for (;;) {
    const bytes = readSync(file, memory);
    if (bytes === 0) return;
    yield memory.subarray(0, bytes);
  }
}

/** Writes all of `source`. */
export async function writeAll(file: number, source: AsyncIterable<Uint8Array>): Promise<void> {
  let batch: Uint8Array[] = [];
  for await (const chunk of source) {
    batch.push(chunk);
    if (batch.length < WRITE_CHUNKS) continue;
    writeBatch(file, batch);
    batch = [];
  }
  if (batch.length > 0) writeBatch(file, batch);
}

function writeBatch(file: number, batch: readonly Uint8Array[]): void {
  const size = batch.reduce((sum, chunk) => sum + chunk.length, 0);
  const written = writevSync(file, batch);
  // The chunks are ours alone: memory that is given back at once is still in the cache when the next chunk takes it.
  for (const chunk of batch) release(asBuffer(chunk));
  if (written !== size) throw new Error(`wrote ${written} of ${size} bytes`);
}
