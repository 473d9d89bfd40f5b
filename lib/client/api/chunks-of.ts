import type { Readable } from 'node:stream';

/**
 * The chunks of a stream, each as it came. The stream's own iterator joins chunks that wait, which copies every byte of a
 * large transfer.
 * @param heldBytes the stream is paused while more than this waits
 * @throws the error of the stream; Error if it is closed before its end
 */
export async function* chunksOf(stream: Readable, heldBytes: number): AsyncGenerator<Uint8Array, void, undefined> {
  const waiting: Uint8Array[] = [];
  let held = 0;
  const state: { end?: 'ended' | 'closed'; failure?: unknown } = {};
  let wake = () => {};
  const listeners = {
    data(chunk: Uint8Array) {
      waiting.push(chunk);
      held += chunk.length;
      if (held > heldBytes) stream.pause();
      wake();
    },
    end() {
      state.end = 'ended';
      wake();
    },
    error(error: unknown) {
      state.failure ??= error;
      wake();
    },
    close() {
      state.end ??= 'closed';
      wake();
    },
  };
  if (stream.errored) throw stream.errored;
  if (stream.destroyed && !stream.readableEnded) throw new Error('closed before its end');
  for (const [event, listener] of Object.entries(listeners)) stream.on(event, listener);
  try {
    for (;;) {
      const chunk = waiting.shift();
      if (chunk !== undefined) {
        held -= chunk.length;
        if (held <= heldBytes && stream.isPaused()) stream.resume();
        yield chunk;
      } else if (state.failure !== undefined) {
        throw state.failure;
      } else if (state.end === 'ended') {
        return;
      } else if (state.end === 'closed') {
        throw new Error('closed before its end');
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  } finally {
    for (const [event, listener] of Object.entries(listeners)) stream.off(event, listener);
    if (state.end === undefined) stream.destroy();
  }
}
