import { Readable } from 'node:stream';

/** A request of the SDK's clients to their HTTP handler, as far as tests read it. */
export interface SdkRequest {
  readonly method: string;
  readonly path: string;
  readonly query?: Readonly<Record<string, string | string[] | null>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Milliseconds that this call may wait for its answer, where the call says so. */
  readonly requestTimeout?: number;
}

export interface SdkReply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** An answer that never comes: the connection breaks, with the code that Node gives to it. */
export function brokenConnection(code = 'ECONNRESET'): Error {
  return Object.assign(new Error('socket hang up'), { code });
}

/**
 * The network of an SDK client, replaced: the client still serialises, signs and parses. `answer` gets every request and
 * throws for one that it does not know.
 */
export function httpHandler(answer: (request: SdkRequest) => SdkReply | Promise<SdkReply>) {
  return {
    async handle(request: SdkRequest, { requestTimeout }: Pick<SdkRequest, 'requestTimeout'> = {}) {
      const {
        status,
        headers = {},
        body = '',
      } = await answer(Object.assign(request, requestTimeout !== undefined && { requestTimeout }));
      return { response: { statusCode: status, headers: { ...headers }, body: Readable.from([Buffer.from(body)]) } };
    },
    updateHttpClientConfig() {},
    httpHandlerConfigs: () => ({}),
  };
}

/** Replies in order; any further request is refused. `requests` has all that came. */
export function scripted(replies: readonly (SdkReply | Error)[]) {
  const left = [...replies];
  const requests: SdkRequest[] = [];
  const handler = httpHandler((request) => {
    requests.push(request);
    const reply = left.shift();
    if (!reply) throw new Error(`unexpected request ${request.method} ${request.path}`);
    if (reply instanceof Error) throw reply;
    return reply;
  });
  return { handler, requests, left };
}

/** Body of a request, as text. */
export function textOf({ body }: SdkRequest): string {
  if (typeof body === 'string') return body;
  if (body instanceof Uint8Array) return Buffer.copyBytesFrom(body).toString();
  throw new TypeError('expected a request body of text or bytes');
}

/** Settings of a client that never leaves the process. */
export const testClient = {
  region: 'eu-north-1',
  credentials: { accessKeyId: 'test-key-id', secretAccessKey: 'test-secret-key' },
} as const;
