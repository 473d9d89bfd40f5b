import { finished, type Writable } from 'node:stream';
import { release } from '../../common/memory.ts';
import type { ReplyBody } from './reply.ts';

/**
 * Writes a body piece by piece. The next piece is asked for when the last one has left. Resolves when all has been sent.
 *
 * If the body fails, or the reader takes too long, this throws and leaves the stream as it is: Lambda's runtime then ends the
 * reply with an error in its trailers, so that the client sees a broken reply, not one that ends early. A destroyed stream
 * would look the same to the client, but the runtime leaves two rejections of it unhandled, and its process ends.
 *
 * @param patienceMs most milliseconds that sending may take. Default: no limit
 * @throws what the body throws; the stream's error, when it breaks or is closed from the other side
 */
export async function sendBody(body: ReplyBody, stream: Writable, patienceMs?: number): Promise<void> {
  const sent = Promise.withResolvers<void>();
  sent.promise.catch(() => {});
  let forget: (error: Error) => void = () => {};
  const giveUp = (error: Error) => {
    // A destroyed stream drops pending write callbacks.
    forget(error);
    sent.reject(error);
  };
  // Lambda's stream is an HTTP request, which also counts as readable. Its reply does not matter here.
  finished(stream, { readable: false }, (error) => {
    if (!error) sent.resolve();
    giveUp(error ?? new Error('the reply was closed'));
  });
  const write = (piece: string | Uint8Array) =>
    new Promise<void>((resolve, reject) => {
      forget = reject;
      // Lambda's stream takes the callback as the third argument.
      stream.write(piece, 'utf8', (error) => (error ? reject(error) : resolve()));
    });
  const late = () => giveUp(new Error('the reply was not taken in time'));
  const timer = patienceMs === undefined ? undefined : setTimeout(late, patienceMs);
  try {
    for await (const piece of typeof body === 'string' ? [body] : body) {
      await write(piece);
      if (typeof piece !== 'string') release(piece);
    }
    stream.end();
    await sent.promise;
  } finally {
    clearTimeout(timer);
  }
}
