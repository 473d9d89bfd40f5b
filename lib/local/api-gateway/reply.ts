import { RequestTooLargeException } from '../lambda/functions.ts';
import { preludeEnd } from '../lambda/response-stream.ts';
import { record } from '../template/template.ts';

/** A reply of a function, in the proxy format. */
export interface ProxyReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Sent under `x-amzn-Remapped-…` (developer guide, known issues). */
const remapped = new Set([
  'authorization',
  'connection',
  'content-md5',
  'date',
  'max-forwards',
  'server',
  'user-agent',
  'www-authenticate',
]);
const dropped = new Set(['host', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'via']);

/** Metadata of a streamed reply must end within this many bytes. */
const preludeLimit = 16 * 1024;

/** @returns `undefined` for what API Gateway calls a malformed Lambda proxy response. */
export function readProxyReply(payload: unknown): ProxyReply | undefined {
  const { statusCode, body = '', headers: given } = record(payload);
  const status = Number(statusCode);
  if (!Number.isInteger(status) || status < 100 || status > 599) return undefined;
  if (typeof body !== 'string' && body !== null) return undefined;
  const headers = readHeaders(given);
  return headers && { status, headers, body: body ?? '' };
}

export interface StreamedReply extends Omit<ProxyReply, 'body'> {
  /** Bytes of the body that came with the metadata. The rest is still in the stream. */
  readonly firstBytes: Uint8Array;
}

/**
 * Read the metadata of a streamed reply: JSON, then eight NUL bytes. What follows stays in `chunks`.
 *
 * @returns `malformed`: it does not begin like this. `failed`: the function failed.
 */
export async function readStreamedReply(
  chunks: AsyncIterator<Uint8Array, void, void>,
): Promise<StreamedReply | 'malformed' | 'failed' | 'too large'> {
  let received = Buffer.alloc(0);
  try {
    for (let next = await chunks.next(); !next.done; next = await chunks.next()) {
      received = Buffer.concat([received, next.value]);
      const end = received.indexOf(preludeEnd);
      if (end >= 0 && end <= preludeLimit) {
        const reply = readProxyReply(parse(received.subarray(0, end).toString()));
        return reply ? { ...reply, firstBytes: received.subarray(end + preludeEnd.length) } : 'malformed';
      }
      if (received.length > preludeLimit) return 'malformed';
    }
    return 'malformed';
  } catch (error) {
    return error instanceof RequestTooLargeException ? 'too large' : 'failed';
  }
}

function readHeaders(given: unknown): Record<string, string> | undefined {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(record(given))) {
    const lower = name.toLowerCase();
    if (typeof value === 'object') return undefined;
    if (!dropped.has(lower)) headers[remapped.has(lower) ? `x-amzn-Remapped-${name}` : name] = String(value);
  }
  return headers;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
