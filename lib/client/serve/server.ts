import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { namesEtag, selectedRange } from '../../common/http-ranges.ts';
import { exitCodes } from '../../terminal/exit-codes.ts';
import type { Failure } from '../../terminal/failure.ts';
import { type Admission, Gatekeeper } from './admission.ts';
import { indexJson, indexPage } from './index-page.ts';
import { type Folder, isFolder, type Place, type ServedFile } from './place.ts';

export interface ServeOptions {
  /** 0: the system chooses a free one. */
  readonly port: number;
  readonly place: Place;
  readonly admission: Admission;
  /** The words for an error. */
  readonly failureOf: (error: unknown) => Failure;
  /** Called with a path and what went wrong with it. */
  readonly failed: (path: string, failure: Failure) => void;
}

export interface Served {
  /** Address of the root, with the token; a secret. */
  readonly url: string;
  readonly port: number;
  /** Ends every connection. */
  close(): Promise<void>;
}

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

/** Shows a place as plain HTTP on the loopback. @throws errors of the system, such as a port in use */
export async function serve(options: ServeOptions): Promise<Served> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(options.port, '127.0.0.1', resolve);
  });
  const { port } = server.address() as { port: number };
  const gate = new Gatekeeper(options.admission, port);
  const site = { ...options, gate };
  server.on('request', (request, response) => void new Exchange(request, response, site).answer());
  return {
    url: `http://127.0.0.1:${port}/${options.admission.token}/`,
    port,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Site extends ServeOptions {
  readonly gate: Gatekeeper;
}

/** One request and its reply. */
class Exchange {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #site: Site;

  constructor(request: IncomingMessage, response: ServerResponse, site: Site) {
    this.#request = request;
    this.#response = response;
    this.#site = site;
  }

  async answer(): Promise<void> {
    const request = this.#request;
    const response = this.#response;
    const segments = segmentsOf(request.url ?? '');
    const path = segments?.slice(1) ?? [];
    try {
      for (const [name, value] of Object.entries(commonHeaders)) response.setHeader(name, value);
      const refusal = await this.#site.gate.refusal(request, segments ?? []);
      if (refusal) return this.#problem(refusal.status, refusal);
      this.#allowOrigin();
      if (request.method === 'OPTIONS') return void response.writeHead(204, { Allow: methods }).end();
      if (!methods.split(', ').includes(request.method ?? '')) {
        response.setHeader('Allow', methods);
        return this.#problem(405, { code: 'method_not_allowed', detail: 'Files here can only be read.' });
      }
      await this.#show(path);
    } catch (error) {
      this.#fail(`/${path.join('/')}`, error);
    }
  }

  async #show(path: readonly string[]): Promise<void> {
    const isSlashed = path.at(-1) === '';
    const found = await findIn(this.#site.place, isSlashed ? path.slice(0, -1) : path);
    if (found === undefined || (isSlashed && !isFolder(found))) {
      return this.#problem(404, { code: 'not_found', detail: 'There is nothing at this path.' });
    }
    if (!isFolder(found)) return await this.#file(found);
    if (isSlashed) return this.#index(path.slice(0, -1), found);
    const name = path.at(-1);
    // Relative, so that the address stays that of the client.
    const location = name === undefined ? `/${this.#site.admission.token}/` : `./${encodeURIComponent(name)}/`;
    this.#response.writeHead(308, { Location: location }).end();
  }

  #index(path: readonly string[], folder: Folder): void {
    const { url = '', headers } = this.#request;
    const isJson = /[?&]format=json(&|$)/.test(url) || headers.accept?.startsWith('application/json');
    const text = isJson ? indexJson(path, folder) : indexPage(path, folder);
    this.#response.setHeader('Vary', 'Accept, Origin');
    this.#text(200, isJson ? 'application/json' : 'text/html; charset=utf-8', text);
  }

  async #file(file: ServedFile): Promise<void> {
    const { method, headers } = this.#request;
    const opened = await file.open();
    const { size, etag } = opened;
    const response = this.#response;
    response.setHeader('ETag', etag).setHeader('Accept-Ranges', 'bytes');
    // The order of RFC 9110 § 13.2.2.
    if (headers['if-match'] !== undefined && !namesEtag(headers['if-match'], etag)) {
      return this.#problem(412, {
        code: 'precondition_failed',
        detail: 'The file is not the one that If-Match names.',
      });
    }
    if (headers['if-none-match'] !== undefined && namesEtag(headers['if-none-match'], etag, 'weakly')) {
      return void response.writeHead(304).end();
    }
    const isMeant = method === 'GET' && (headers['if-range'] ?? etag).toString().trim() === etag;
    const range = isMeant ? selectedRange(headers.range, size) : undefined;
    if (range === 'unsatisfiable') {
      response.setHeader('Content-Range', `bytes */${size}`);
      return this.#problem(416, { code: 'range_not_satisfiable', detail: `The file has ${size} bytes.` });
    }
    const { start, end } = range ?? { start: 0, end: size };
    const content = opened.stream(start, end);
    // An error of the first bytes still has a status.
    const first = method === 'HEAD' ? undefined : await content.next();
    response.writeHead(range ? 206 : 200, {
      'Content-Type': 'application/octet-stream',
      'Content-Length': end - start,
      ...(range && { 'Content-Range': `bytes ${start}-${end - 1}/${size}` }),
      'Last-Modified': opened.lastModified,
    });
    if (first === undefined || first.done) return void response.end();
    await pipeline(Readable.from(following(first.value, content), { highWaterMark: 1 }), response);
  }

  /** CORS (Fetch § 3.2), for the origins that the user has named alone. */
  #allowOrigin(): void {
    const origin = this.#site.gate.allowedOrigin(this.#request);
    if (origin === undefined) return;
    this.#response
      .setHeader('Access-Control-Allow-Origin', origin)
      .setHeader('Access-Control-Allow-Methods', methods)
      .setHeader('Access-Control-Allow-Headers', 'Range, If-Range, If-Match, If-None-Match')
      .setHeader('Access-Control-Expose-Headers', 'Accept-Ranges, Content-Length, Content-Range, ETag')
      .setHeader('Vary', 'Origin');
    // A page of the public network asks once more before it may reach this machine (Private Network Access § 3.2).
    if (this.#request.headers['access-control-request-private-network'] === 'true') {
      this.#response.setHeader('Access-Control-Allow-Private-Network', 'true');
    }
  }

  #fail(path: string, error: unknown): void {
    const response = this.#response;
    // To go away is how tools end a read.
    if ((error as NodeJS.ErrnoException).code === 'ERR_STREAM_PREMATURE_CLOSE') return;
    const failure = this.#site.failureOf(error);
    this.#site.failed(path, failure);
    // A reply that has begun can only break off.
    if (response.headersSent) return void response.destroy();
    const { exitCode, code, message, remedy } = failure;
    this.#problem(statuses[exitCode] ?? 500, { code, detail: message, remedy });
  }

  /** RFC 9457. */
  #problem(
    status: number,
    problem: { readonly code: string; readonly detail: string; readonly remedy?: string | undefined },
  ): void {
    const { code, detail, remedy } = problem;
    this.#text(status, 'application/problem+json', `${JSON.stringify({ status, code, detail, remedy })}\n`);
  }

  #text(status: number, type: string, text: string): void {
    this.#response.writeHead(status, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(text) });
    this.#response.end(this.#request.method === 'HEAD' ? undefined : text);
  }
}

/** What is at a path below the root. */
async function findIn(place: Place, path: readonly string[]): Promise<Folder | ServedFile | undefined> {
  // No name of a file is one of these.
  if (path.some((name) => name === '' || name === '.' || name === '..' || /[/\0]/.test(name))) return undefined;
  return await place.find(path);
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

async function* following(first: Uint8Array, rest: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first;
  yield* rest;
}
