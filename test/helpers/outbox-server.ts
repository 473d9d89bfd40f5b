import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { stopServer } from '../../lib/local/http.ts';
import { listenLocally } from './loopback.ts';

interface Stored {
  content: Buffer;
  etag: string;
  lastModified: Date;
}

const about = { name: 'data-out', organization: 'Example Archive', basicRequired: true, issuers: [] };

/**
 * What the client sees of the delivery API and of storage behind it, as docs/api.md says, in one small server: for tests of
 * the client alone. The whole service is in `service.ts`.
 */
export class OutboxServer {
  visa = 'good-visa';
  readonly password = 'good-password';
  /** Requests, as method and path without query. */
  readonly requests: string[] = [];
  /** What each listing named as the row before its own; empty: none. */
  readonly listedAfter: string[] = [];
  /** Headers of storage that are left out. */
  without: readonly string[] = [];
  /** Whether the listing has pages. */
  hasPages = true;
  /** Whether storage knows ranges. */
  ranges = true;
  /** The keys of the receipts, as a JWK set; `undefined`: there is no such path. */
  keySet: object | undefined;
  /** Storage answers a request for a file of this name after the promise. */
  held: (name: string) => Promise<void> | undefined = () => undefined;
  /** When staged files expire. */
  expires = '2026-12-22T00:00:00.000Z';
  readonly #files = new Map<string, Stored>();
  readonly #server: Server;
  #origin = '';

  private constructor() {
    this.#server = createServer((incoming, outgoing) => this.#handle(incoming, outgoing));
  }

  static async start(): Promise<OutboxServer> {
    const server = new OutboxServer();
    server.#origin = await listenLocally(server.#server);
    return server;
  }

  stop(): Promise<void> {
    return stopServer(this.#server);
  }

  get url(): string {
    return `${this.#origin}/v1/`;
  }

  /** @param lastModified default: in the year 2023 */
  put(name: string, content: Uint8Array, lastModified = new Date(1_700_000_000_000)): void {
    const etag = `"${createHash('md5').update(content).digest('hex')}"`;
    this.#files.set(name, { content: Buffer.from(content), etag, lastModified });
  }

  remove(name: string): void {
    this.#files.delete(name);
  }

  clear(): void {
    this.#files.clear();
    this.requests.length = 0;
    this.listedAfter.length = 0;
    this.without = [];
    this.ranges = true;
    this.hasPages = true;
    this.keySet = undefined;
    this.held = () => undefined;
    this.expires = '2026-12-22T00:00:00.000Z';
  }

  /** How often a path was asked for. */
  count(path: RegExp): number {
    return this.requests.filter((request) => path.test(request)).length;
  }

  #handle(incoming: IncomingMessage, outgoing: ServerResponse): unknown {
    const url = new URL(incoming.url ?? '/', this.url);
    this.requests.push(`${incoming.method} ${url.pathname}`);
    const name = decodeURIComponent(url.pathname.split('/').at(-1) ?? '');
    if (url.pathname.startsWith('/bucket/')) {
      const held = this.held(name);
      if (held === undefined) return this.#storage(incoming, outgoing, name, url);
      return void held.then(() => this.#storage(incoming, outgoing, name, url));
    }
    const { authorization, 'x-ga4gh-visa': visa, 'proxy-authorization': bearer } = incoming.headers;
    if (url.pathname === '/v1/.well-known/jwks.json') {
      if (this.keySet === undefined) return problem(outgoing, 404, 'not_found', 'there is no such path');
      if (authorization ?? visa ?? bearer)
        return problem(outgoing, 400, 'invalid_request', 'this takes no credentials');
      return json(outgoing, this.keySet);
    }
    if (url.pathname === '/v1/.well-known/data-out') return json(outgoing, about);
    const basic = `Basic ${Buffer.from(`user:${this.password}`).toString('base64')}`;
    const isProxied = bearer === undefined || bearer === `Bearer ${this.visa}`;
    if (visa !== this.visa || !isProxied || authorization !== basic) {
      return problem(outgoing, 401, 'unauthenticated', 'the visa has expired');
    }
    if (url.pathname === '/v1/files') return this.#list(outgoing, url);
    if (url.pathname.startsWith('/v1/stream/')) return this.#location(outgoing, name);
    return problem(outgoing, 404, 'not_found', 'there is no such path');
  }

  #list(outgoing: ServerResponse, url: URL): void {
    const page = !this.hasPages ? 0 : Number(url.searchParams.get('page'));
    const after = this.hasPages ? (url.searchParams.get('after') ?? '') : '';
    const size = Number(url.searchParams.get('per_page'));
    const receipts = url.searchParams.get('receipts') === 'true';
    this.listedAfter.push(after);
    const files = [...this.#files]
      .filter(([fileName]) => fileName > after && (receipts || !fileName.endsWith('.delivery.jws')))
      .slice(page * size, (page + 1) * size)
      .map(([fileName, { content, lastModified, etag }]) => ({
        fileName,
        size: content.length,
        modifiedDate: lastModified.toISOString(),
        expiryDate: this.expires,
        ...(fileName.endsWith('.delivery.jws') && { etag }),
      }));
    json(outgoing, { files });
  }

  #location(outgoing: ServerResponse, name: string): unknown {
    const file = this.#files.get(name);
    if (!file) return problem(outgoing, 404, 'not_found', 'there is no such file in your outbox');
    const expires = Date.now() + 900_000;
    const url = new URL(`/bucket/${encodeURIComponent(name)}?signature=very-secret&expires=${expires}`, this.url);
    return json(outgoing, { url, expiresAt: new Date(expires).toISOString(), size: file.content.length });
  }

  #storage(incoming: IncomingMessage, outgoing: ServerResponse, name: string, url: URL): void {
    const file = this.#files.get(name);
    const { authorization, 'x-ga4gh-visa': visa, 'proxy-authorization': bearer } = incoming.headers;
    // S3 refuses a request that is signed twice, and must never see these credentials.
    if (authorization ?? visa ?? bearer) return void outgoing.writeHead(400).end('only one auth mechanism allowed');
    if (Number(url.searchParams.get('expires')) < Date.now()) return void outgoing.writeHead(403).end('expired');
    if (!file) return void outgoing.writeHead(404).end();
    const { 'if-match': match, 'if-unmodified-since': since } = incoming.headers;
    if (match !== undefined && match !== file.etag) return void outgoing.writeHead(412).end();
    if (since !== undefined && Date.parse(since) < file.lastModified.getTime())
      return void outgoing.writeHead(412).end();
    const [, from, to] = (this.ranges && /^bytes=(\d+)-(\d+)$/.exec(incoming.headers.range ?? '')) || [];
    const { length } = file.content;
    const start = Number(from ?? 0);
    const end = Math.min(length, Number(to ?? length - 1) + 1);
    if (from !== undefined && start >= length) return void outgoing.writeHead(416).end();
    const headers: Record<string, string> = {
      etag: file.etag,
      'last-modified': file.lastModified.toUTCString(),
      'content-length': String(end - start),
      ...(from !== undefined && { 'content-range': `bytes ${start}-${end - 1}/${length}` }),
    };
    for (const header of this.without) delete headers[header];
    outgoing.writeHead(from === undefined ? 200 : 206, headers);
    outgoing.end(file.content.subarray(start, end));
  }
}

function json(outgoing: ServerResponse, body: unknown): void {
  outgoing.writeHead(200, { 'content-type': 'application/json' });
  outgoing.end(JSON.stringify(body));
}

function problem(outgoing: ServerResponse, status: number, code: string, detail: string): void {
  outgoing.writeHead(status, { 'content-type': 'application/problem+json' });
  outgoing.end(JSON.stringify({ type: 'about:blank', title: 'No', status, detail, code, requestId: 'request-1' }));
}
