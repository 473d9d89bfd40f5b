import { ReadStream, read } from 'node:fs';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';

/** Bytes of one read of a file. */
const readBytes = 512 * 1024;

/**
 * The bytes of standard input. A chunk is valid until the next one is asked for: its memory is used again, or given back.
 *
 * @throws the reason of `signal`, also while it waits for a pipe.
 */
export async function* standardInput(stdin: Readable, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  signal.throwIfAborted();
  if (stdin instanceof ReadStream) yield* fileChunks(stdin, signal);
  else yield* pipeChunks(stdin, signal);
}

/** Reads without the stream, which takes new memory for each 64 KiB. */
async function* fileChunks(stdin: ReadStream, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const { fd } = stdin as unknown as { readonly fd: number };
  const readFile = promisify(read);
  const memory = Buffer.allocUnsafeSlow(readBytes);
  for (;;) {
    const { bytesRead } = await readFile(fd, memory, 0, memory.length, null);
    signal.throwIfAborted();
    if (bytesRead === 0) return;
    yield memory.subarray(0, bytesRead);
  }
}

async function* pipeChunks(stdin: Readable, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  // Without this, the process would wait for the writer of the pipe.
  const stop = () => stdin.destroy(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  try {
    for await (const chunk of stdin as AsyncIterable<Buffer<ArrayBuffer>>) {
      yield chunk;
      // The garbage collector would free it late, and memory would grow.
      if (chunk.length === chunk.buffer.byteLength) chunk.buffer.transfer(0);
    }
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
