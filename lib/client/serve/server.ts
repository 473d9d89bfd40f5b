import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { selectedRange } from '../../common/http-ranges.ts';
import { joined } from '../../common/streams.ts';
import { exitCodes } from '../../terminal/exit-codes.ts';
import type { Failure } from '../../terminal/failure.ts';
import { type Admission, gatekeeper, nothing } from './admission.ts';
import type { Find, OpenFile } from './folder.ts';
import { indexPage } from './index-page.ts';

export interface ServeOptions {
  /** 0: the system chooses a free one. */
  readonly port: number;
  readonly find: Find;
  readonly admission: Admission;
  /** The words for an error. */
  readonly failureOf: (error: unknown) => Failure;
  /** Called with a path and what went wrong with it. */
  readonly failed: (path: string, failure: Failure) => void;
}

export type Served = Awaited<ReturnType<typeof serve>>;

/** What every reply has: no other page learns the address, keeps a reply, or runs what it holds. */
const commonHeaders = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
} as const;

const methods = 'GET, HEAD, OPTIONS';

/** The status for a failure that a tool should see; every other is 500. */
const statuses: Readonly<Record<number, number>> = {
  [exitCodes.denied]: 403,
  [exitCodes.notFound]: 404,
  [exitCodes.damaged]: 502,
  [exitCodes.unavailable]: 503,
};

/** Shows a folder as plain HTTP on the loopback. @throws errors of the system, such as a port in use */
export async function serve(options: ServeOptions) {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(options.port, '127.0.0.1', resolve);
  });
  const { port } = server.address() as { port: number };
  const gate = gatekeeper(options.admission, port);
  server.on('request', (request, response) => void answer(request, response, { ...options, gate }));
  return {
    /** Address of the root, with the token; a secret. */
    url: `http://127.0.0.1:${port}/${options.admission.token}/`,
    port,
    /** Ends every connection. */
    async close(): Promise<void> {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

type Site = ServeOptions & { readonly gate: ReturnType<typeof gatekeeper> };

async function answer(request: IncomingMessage, response: ServerResponse, site: Site): Promise<void> {
  const segments = segmentsOf(request.url ?? '');
  const [token = '', ...path] = segments ?? [];
  try {
    for (const [name, value] of Object.entries(commonHeaders)) response.setHeader(name, value);
    const refusal = await site.gate.refusal(request, token);
    if (refusal) return problem(response, ...refusal);
    allowOrigin(response, site.gate.allowedOrigin(request));
    if (request.method === 'OPTIONS') return void response.writeHead(204, { Allow: methods }).end();
    if (!methods.split(', ').includes(request.method ?? '')) {
      response.setHeader('Allow', methods);
      return problem(response, 405, 'method_not_allowed', 'Files here can only be read.');
    }
    await show(request, response, site, path);
  } catch (error) {
    // To go away is how tools end a read.
    if ((error as NodeJS.ErrnoException).code === 'ERR_STREAM_PREMATURE_CLOSE') return;
    const failure = site.failureOf(error);
    site.failed(`/${path.join('/')}`, failure);
    // A reply that has begun can only break off.
    if (response.headersSent) return void response.destroy();
    problem(response, statuses[failure.exitCode] ?? 500, failure.code, failure.message, failure.remedy);
  }
}

/** @param path names below the root, the last one empty after a slash at the end */
async function show(
  request: IncomingMessage,
  response: ServerResponse,
  { find, admission }: Site,
  path: readonly string[],
): Promise<void> {
  const [above, last] = [path.slice(0, -1), path.at(-1)];
  const names = await find(above);
  if (last === '' && names) return text(response, 200, 'text/html; charset=utf-8', indexPage(above, names));
  const open = last === undefined ? undefined : names?.get(last);
  if (open) return await sendFile(request, response, await open());
  const isFolder = last === undefined || names?.has(last) === true;
  if (!isFolder) return problem(response, 404, 'not_found', nothing);
  // Relative, so that the address stays that of the client.
  const location = last === undefined ? `/${admission.token}/` : `./${encodeURIComponent(last)}/`;
  response.writeHead(308, { Location: location }).end();
}

async function sendFile({ method, headers }: IncomingMessage, response: ServerResponse, file: OpenFile): Promise<void> {
  const { size, etag, lastModified } = file;
  response.setHeader('ETag', etag).setHeader('Accept-Ranges', 'bytes');
  const isMeant = method === 'GET' && (headers['if-range'] ?? etag).toString().trim() === etag;
  const range = isMeant ? selectedRange(headers.range, size) : undefined;
  if (range === 'unsatisfiable') {
    response.setHeader('Content-Range', `bytes */${size}`);
    return problem(response, 416, 'range_not_satisfiable', `The file has ${size} bytes.`);
  }
  const { start, end } = range ?? { start: 0, end: size };
  const content = file.stream(start, end);
  // An error of the first bytes still has a status.
  const first = method === 'HEAD' ? undefined : await content.next();
  response.writeHead(range ? 206 : 200, {
    'Content-Type': 'application/octet-stream',
    'Content-Length': end - start,
    ...(range && { 'Content-Range': `bytes ${start}-${end - 1}/${size}` }),
    'Last-Modified': lastModified,
  });
  if (first === undefined || first.done) return void response.end();
  try {
    await pipeline(Readable.from(joined(first.value, content), { highWaterMark: 1 }), response);
  } finally {
    // A reader that leaves before the first byte has not begun the iteration, so nothing else ends it.
    await content.return(undefined);
  }
}

/** CORS (Fetch § 3.2), only for the origins that the user has named. */
function allowOrigin(response: ServerResponse, origin: string | undefined): void {
  if (origin === undefined) return;
  response
    .setHeader('Access-Control-Allow-Origin', origin)
    .setHeader('Access-Control-Allow-Methods', methods)
    .setHeader('Access-Control-Allow-Headers', 'Range, If-Range')
    .setHeader('Access-Control-Expose-Headers', 'Accept-Ranges, Content-Length, Content-Range, ETag')
    .setHeader('Vary', 'Origin');
}

/** RFC 9457. */
function problem(response: ServerResponse, status: number, code: string, detail: string, remedy?: string): void {
  text(response, status, 'application/problem+json', `${JSON.stringify({ status, code, detail, remedy })}\n`);
}

/** Node sends no body in answer to HEAD. */
function text(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body) }).end(body);
}

/** The names in a path, decoded; `undefined` if it cannot be decoded. */
function segmentsOf(url: string): readonly string[] | undefined {
  const [path = ''] = url.split('?');
  try {
    return path.startsWith('/') ? path.slice(1).split('/').map(decodeURIComponent) : undefined;
  } catch {
    return undefined;
  }
}
