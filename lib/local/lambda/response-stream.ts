import { Writable } from 'node:stream';

const streaming = Symbol('streaming handler');

/** `awslambda.streamifyResponse`: the handler gets a response stream as its second argument. */
export function streamifyResponse<T extends (...args: never[]) => Promise<unknown>>(handler: T): T {
  return Object.assign(handler, { [streaming]: true });
}

export function isStreaming(handler: object): boolean {
  return streaming in handler;
}

/** Send one chunk. The promise resolves when there is room for the next. */
type SendChunk = (data: Uint8Array) => Promise<void>;

/** The response stream of a streaming handler. */
export class ResponseStream extends Writable {
  /** Resolves when the stream has ended and everything was sent. Rejects when it was destroyed with an error. */
  readonly completed: Promise<void>;
  readonly #send: SendChunk;
  #prelude: Uint8Array | undefined;

  constructor(send: SendChunk) {
    super({ highWaterMark: 64 * 1024 });
    this.#send = send;
    this.completed = new Promise((resolve, reject) => {
      this.once('finish', resolve);
      this.once('error', reject);
    });
    // The handler's own error is reported first; this one must not end the process.
    this.completed.catch(() => {});
  }

  setContentType(_contentType: string): void {}

  /** For {@link HttpResponseStream}. It is sent with the first write, as in Lambda's runtime, and never without one. */
  setPrelude(prelude: Uint8Array): void {
    this.#prelude = prelude;
  }

  /**
   * In Lambda's runtime the stream is a request to Lambda's API. If a function destroys it, the request fails and two
   * promises reject that no code awaits: the process ends. If a handler throws, the runtime itself ends the stream.
   */
  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    if (!this.writableFinished) void Promise.reject(error ?? new Error('socket hang up'));
    callback(error);
  }

  override _write(chunk: Uint8Array, _encoding: BufferEncoding, done: (error?: Error) => void): void {
    const data = this.#prelude ? Buffer.concat([this.#prelude, chunk]) : chunk;
    this.#prelude = undefined;
    this.#send(data).then(() => done(), done);
  }
}

/** Ends the metadata of an HTTP reply in a streamed payload. */
export const preludeEnd = new Uint8Array(8);

/** `awslambda.HttpResponseStream`: status and headers before the body. */
export const HttpResponseStream = {
  from(stream: ResponseStream, metadata: unknown): ResponseStream {
    stream.setContentType('application/vnd.awslambda.http-integration-response');
    stream.setPrelude(Buffer.concat([Buffer.from(JSON.stringify(metadata)), preludeEnd]));
    return stream;
  },
};
