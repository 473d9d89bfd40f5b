import type { FileHandle } from 'node:fs/promises';

const READ_BYTES = 2 ** 20;
/** Segments that are written in one go. */
const WRITE_CHUNKS = 16;

/**
 * A file in chunks of 1 MiB, all in the same memory: for whoever is done with a chunk when asking for the next. Streams
 * of Node take new memory for each chunk, which costs as much as the cipher.
 */
export async function* chunksOf(file: FileHandle): AsyncGenerator<Buffer, void, undefined> {
  const memory = Buffer.allocUnsafeSlow(READ_BYTES);
  for (;;) {
    const { bytesRead } = await file.read(memory, 0, READ_BYTES);
    if (bytesRead === 0) return;
    yield memory.subarray(0, bytesRead);
  }
}

/** Writes all of `source`; while one batch is written, the next is made. */
export async function writeAll(file: FileHandle, source: AsyncIterable<Uint8Array>): Promise<void> {
  let batch: Uint8Array[] = [];
  let written: Promise<unknown> = Promise.resolve();
  for await (const chunk of source) {
    batch.push(chunk);
    if (batch.length < WRITE_CHUNKS) continue;
    await written;
    written = file.writev(batch);
    batch = [];
  }
  await written;
  if (batch.length > 0) await file.writev(batch);
}
