import type { Dispatcher } from 'undici';
import { ClientError } from './errors.ts';

export interface TransportReply {
  readonly status: number;
  /** Value of a header; several values are joined. */
  header(name: string): string | undefined;
  /** Read it to its end or give it up with `discard`: only then is the connection free again. */
  readonly body: AsyncIterable<Uint8Array>;
  text(maximumBytes?: number): Promise<string>;
  /** Ends a reply whose rest is not wanted. */
  discard(): Promise<void>;
}

/** Most bytes of one reply that wait to be taken. */
const heldBytes = 1024 * 1024;
const defaultTextBytes = 1024 * 1024;

interface Asked {
  readonly signal: AbortSignal | undefined;
  /** Called when status and headers have arrived. */
  readonly started: (reply: TransportReply) => void;
  /** Called with the client's error if the request fails before. */
  readonly failed: (error: unknown) => void;
  /** The client's error for one of the connection. */
  readonly failure: (error: unknown) => unknown;
}

/**
 * Takes one reply from the HTTP library, and gives out each chunk of its body as it came. Streams of Node.js would join chunks
 * that wait, which copies every byte of a large transfer, and take as long as a whole small file.
 */
export class IncomingReply implements TransportReply, Dispatcher.DispatchHandler {
  status = 0;
  readonly #asked: Asked;
  readonly #waiting: Uint8Array[] = [];
  #headers: Readonly<Record<string, string | readonly string[] | undefined>> = {};
  #controller: Dispatcher.DispatchController | undefined;
  #held = 0;
  #end: 'complete' | { readonly error: unknown } | undefined;
  #wake = () => {};

  constructor(asked: Asked) {
    this.#asked = asked;
  }

  header(name: string): string | undefined {
    const value = this.#headers[name.toLowerCase()];
    return typeof value === 'object' ? value.join(', ') : value;
  }

  readonly body = { [Symbol.asyncIterator]: () => this.#chunks() };

  async text(maximumBytes = defaultTextBytes): Promise<string> {
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of this.body) {
      size += chunk.length;
      if (size > maximumBytes) throw new ClientError('protocol', `the reply is longer than ${maximumBytes} bytes`);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString('utf8');
  }

  async discard(): Promise<void> {
    if (this.#end === undefined) this.#controller?.abort(new Error('given up'));
  }

  async *#chunks(): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for (;;) {
        const chunk = this.#waiting.shift();
        if (chunk !== undefined) {
          this.#held -= chunk.length;
          if (this.#held <= heldBytes) this.#controller?.resume();
          yield chunk;
        } else if (this.#end === 'complete') {
          return;
        } else if (this.#end !== undefined) {
          throw this.#asked.failure(this.#end.error);
        } else {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        }
      }
    } finally {
      await this.discard();
    }
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#asked.signal?.addEventListener('abort', this.#interrupt, { once: true });
    if (this.#asked.signal?.aborted) this.#interrupt();
  }

  onResponseStart(_: unknown, status: number, headers: Readonly<Record<string, string | string[] | undefined>>): void {
    // 1xx: the reply itself is still to come (RFC 9110 § 15.2).
    if (status < 200) return;
    this.status = status;
    this.#headers = headers;
    this.#asked.started(this);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    this.#waiting.push(chunk);
    this.#held += chunk.length;
    if (this.#held > heldBytes) controller.pause();
    this.#wake();
  }

  onResponseEnd(): void {
    this.#ended('complete');
  }

  onResponseError(_: unknown, error: Error): void {
    this.#ended({ error });
    if (this.status === 0) this.#asked.failed(this.#asked.failure(error));
  }

  #ended(end: 'complete' | { readonly error: unknown }): void {
    this.#end = end;
    this.#asked.signal?.removeEventListener('abort', this.#interrupt);
    this.#wake();
  }

  readonly #interrupt = () => this.#controller?.abort(new Error('interrupted'));
}
