import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { written } from '../http.ts';

/** Bytes of data files on their way to a client. */
export class StoredBody {
  readonly #pieces: AsyncIterable<Uint8Array>;
  readonly #release: () => void;

  /**
   * @param pieces asking for a piece overwrites the last but one
   * @param release called once, when the bytes are no longer needed
   */
  constructor(pieces: AsyncIterable<Uint8Array>, release: () => void) {
    this.#pieces = pieces;
    this.#release = release;
  }

  /** Write all and end the response. A broken source also breaks the client's connection. */
  async writeTo(response: Writable, count?: (bytes: number) => void): Promise<void> {
    // The callback of a write reports the error as well.
    response.on('error', () => undefined);
    try {
      let earlier: Promise<void> | undefined;
      for await (const piece of this.#pieces) {
        // Piece n has left its buffer before piece n + 2 is read into it; piece n + 1 was read meanwhile.
        await earlier;
        earlier = written(response, piece);
        // The client may leave while the next piece is read. The error is thrown at the next `await`.
        earlier.catch(() => undefined);
        count?.(piece.byteLength);
      }
      await earlier;
      response.end();
      await finished(response);
    } catch {
      response.destroy();
    } finally {
      this.close();
    }
  }

  /** Release the bytes, written or not. */
  close(): void {
    this.#release();
  }
}
