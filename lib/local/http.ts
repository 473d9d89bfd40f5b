import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import { createServer as createNetServer, type Server as NetServer } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { EngineError, isCode } from './errors.ts';

/**
 * Milliseconds for which a server keeps a connection without requests. With Node's five seconds a server closes connections
 * that clients on a busy machine are about to use again.
 */
const keepAliveMs = 65_000;

/** Stop listening, end every connection, and wait until all of them are closed. */
export async function stopServer(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
}

/**
 * A server on this machine's loopback address. It serves from `open` on, with what that is given; callers wait until then. `stop`
 * ends every connection.
 *
 * @param ports, errors as of {@link listen}
 * @returns `url` without a final slash
 */
export async function openLater<Known>(
  ports: readonly number[],
  serve: (known: Known, request: IncomingMessage, response: ServerResponse) => Promise<void>,
  options: ServerOptions = {},
) {
  const opened = Promise.withResolvers<Known>();
  const server = createServer(options, (request, response) => {
    opened.promise.then((known) => serve(known, request, response)).catch(() => response.destroy());
  });
  server.keepAliveTimeout = keepAliveMs;
  const port = await listen(server, ports);
  return { url: `http://127.0.0.1:${port}`, open: opened.resolve, stop: () => stopServer(server) };
}

/**
 * Collect a body.
 *
 * @returns `undefined` when it is longer than `limit` bytes. The rest is read and dropped, so that the connection can still
 * carry a reply.
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

/** Write a body. If its source breaks, the client's connection is also broken. */
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

/** Resolves when the bytes have left their memory. @throws Error when the client has gone, or leaves first */
export function written(response: Writable, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    const gone = () => reject(new Error('the client has left'));
    if (response.closed) return gone();
    response.once('close', gone);
    response.write(bytes, (error) => {
      response.off('close', gone);
      if (error) reject(error);
      else resolve();
    });
  });
}

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;

/**
 * Refuse a request that a web page has sent. It has another host name, if the page's own name was bound to this machine
 * (DNS rebinding), or another origin. Programs on this machine send neither.
 *
 * @param ownHosts host names of the operator's own, which no other site can bind
 * @returns whether it was refused
 */
export function refuseForeign(
  request: IncomingMessage,
  response: ServerResponse,
  ownHosts: readonly string[] = [],
): boolean {
  const { host = '', origin } = request.headers;
  const isLocal = (text: string) => loopback.test(text) || ownHosts.includes(text);
  if (isLocal(host) && (origin === undefined || isLocal(origin.replace(/^https?:\/\//i, '')))) return false;
  request.resume();
  response.writeHead(403, { 'content-type': 'text/plain' });
  response.end('The local engine serves this machine only.\n');
  return true;
}

/**
 * Listen on this machine's loopback address.
 *
 * @param ports tried in this order; 0 is any free one.
 * @returns the port
 * @throws EngineError when all of them are taken, or one cannot be used.
 */
export async function listen(server: NetServer, ports: readonly number[]): Promise<number> {
  for (const port of ports) {
    const bound = await new Promise<number | undefined>((resolve, reject) => {
      const failed = (error: Error) => {
        if (isCode(error, 'EADDRINUSE')) resolve(undefined);
        else reject(new EngineError(`port ${port} cannot be used: ${error.message}`, { cause: error }));
      };
      server.once('error', failed);
      server.listen(port, '127.0.0.1', () => {
        server.off('error', failed);
        const address = server.address();
        resolve(typeof address === 'object' && address ? address.port : port);
      });
    });
    if (bound !== undefined) return bound;
  }
  throw new EngineError(`port ${ports.join(', ')} is taken; choose another one with --port`);
}

/** The first of these ports that is free now. Parameter and errors as of `listen`. */
export async function freePort(ports: readonly number[]): Promise<number> {
  const server = createNetServer();
  const port = await listen(server, ports);
  await new Promise((resolve) => server.close(resolve));
  return port;
}
