import { Agent, type IncomingMessage, type OutgoingHttpHeaders, request, type ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** Connections to the embedded engines, kept open. */
const agent = new Agent({ keepAlive: true });

/** Send a request to an embedded engine; the body goes through as a stream, with back-pressure. */
export function send(
  port: number,
  method: string,
  path: string,
  headers: OutgoingHttpHeaders,
  body: Readable | Uint8Array | undefined,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: '127.0.0.1', port, method, path, headers, agent }, resolve);
    outgoing.on('error', reject);
    if (body === undefined || body instanceof Uint8Array) outgoing.end(body);
    else pipeline(body, outgoing).catch(reject);
  });
}

/** Headers that belong to one connection, RFC 9110 § 7.6.1. */
const hopByHop = new Set([
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'host',
  'expect',
]);

export function endToEnd(headers: Readonly<Record<string, string | string[] | undefined>>): OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !hopByHop.has(name)));
}

/**
 * Collect a body.
 *
 * @returns `undefined` when it is longer than `limit` bytes; the rest of it is read and forgotten, so that the connection
 * can still carry a reply.
 */
export async function readAll(stream: Readable, limit: number): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > limit) {
      stream.resume();
      return undefined;
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Write a body that may stop half-way; a broken source breaks the client's connection, too. */
export async function writeBody(response: ServerResponse, body: Readable | string | Uint8Array): Promise<void> {
  if (typeof body === 'string' || body instanceof Uint8Array) {
    await new Promise<void>((resolve) => {
      response.once('close', resolve);
      response.end(body, resolve);
    });
    return;
  }
  await pipeline(body, response).catch(() => response.destroy());
}

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;

/**
 * Refuse a request that a web page has sent: one for another host name, which leads here only after the page's own name was
 * bound to this machine, and one of another origin. Programs on this machine send neither.
 *
 * @returns whether it was refused
 */
export function refuseForeign(request: IncomingMessage, response: ServerResponse): boolean {
  const { host = '', origin } = request.headers;
  const isOwn = (text: string) => loopback.test(text.replace(/^https?:\/\//i, ''));
  if (loopback.test(host) && (origin === undefined || isOwn(origin))) return false;
  request.resume();
  response.writeHead(403, { 'content-type': 'text/plain' });
  response.end('The local engine serves this machine only.\n');
  return true;
}
