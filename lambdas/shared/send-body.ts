import { finished, type Writable } from 'node:stream';
import type { ReplyBody } from '../../lib/http/reply.ts';

/** Below this, giving memory back costs more than it is worth. */
const releasedFromBytes = 4096;

/**
 * Writes a body piece by piece; the next one is asked for when the last one has left. Resolves when all has been sent.
 * If the body fails, the stream is destroyed: the client sees a broken reply, not one that ends early. So it is when the
 * reader takes too long; an invocation that is ended from outside could not say any more what it has handed over.
 *
 * @param patienceMs most milliseconds that sending may take. Default: no limit
 * @throws what the body throws; the stream's error, when it breaks or is closed from the other side
 */
export async function sendBody(body: ReplyBody, stream: Writable, patienceMs?: number): Promise<void> {
  let giveUp: (error: Error) => void = () => {};
  const sent = new Promise<void>((resolve, reject) => {
    // Lambda's stream is an HTTP request, which passes for readable, too: its reply is nothing to wait for.
    finished(stream, { readable: false }, (error) => {
      // A write that the stream has forgotten is not told so.
      giveUp(error ?? new Error('the reply was closed'));
      if (error) reject(error);
      else resolve();
    });
  });
  sent.catch(() => {});
  const write = (piece: string | Uint8Array) =>
    new Promise<void>((resolve, reject) => {
      giveUp = reject;
      // Lambda's stream takes the callback as the third argument.
      stream.write(piece, 'utf8', (error) => (error ? reject(error) : resolve()));
    });
  const late = () => stream.destroy(new Error('the reply was not taken in time'));
  const timer = patienceMs === undefined ? undefined : setTimeout(late, patienceMs);
  try {
    for await (const piece of typeof body === 'string' ? [body] : body) {
      await write(piece);
      if (typeof piece !== 'string') release(piece);
    }
    stream.end();
    await sent;
  } catch (error) {
    stream.destroy(error instanceof Error ? error : new Error(String(error)));
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Gives the memory of a piece back at once, if the piece is all that is in it. To find it later would take the garbage
 * collector as much processor time as all the rest of a large reply.
 */
function release({ buffer, byteLength }: Uint8Array): void {
  const isAlone = buffer instanceof ArrayBuffer && buffer.byteLength === byteLength;
  if (isAlone && byteLength >= releasedFromBytes) buffer.transfer(0);
}
