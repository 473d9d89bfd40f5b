/** The process of `RangeServer`: the delivery API as far as a client needs it, and storage, from memory and without end. */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { drained } from './fault-proxy.ts';
import type { Line, ServedFile } from './range-server.ts';

/** Written at once; the pattern is repeated up to it. */
const chunkBytes = 256 * 1024;
const modified = new Date('2026-01-02T03:04:05.000Z');

class Content {
  readonly size: number;
  readonly #period: number;
  readonly #repeated: Buffer;

  constructor({ size, repeat }: ServedFile) {
    this.size = size;
    const pattern = Buffer.from(repeat, 'base64');
    this.#period = pattern.length;
    // From any place in the first period on, one whole chunk.
    this.#repeated = Buffer.alloc(this.#period + Math.min(size, chunkBytes), pattern);
  }

  /** Bytes from `at` on: no more than one chunk, none behind `end`. */
  from(at: number, end: number): Buffer {
    const start = at % this.#period;
    return this.#repeated.subarray(start, start + Math.min(chunkBytes, end - at));
  }
}

const contents = new Map<string, Content>();
let line: Required<Line> = { delayMs: 0, bitsPerSecond: Number.POSITIVE_INFINITY };
/** When the line has carried all that was written so far. */
let lineFreeMs = 0;
/** So much may be written ahead, because timers are late by up to a millisecond. */
const aheadMs = 10;

const server = createServer(async (request, reply) => {
  const { url: path = '', headers } = request;
  if (line.delayMs > 0) await setTimeout(line.delayMs);
  const url = new URL(path, 'http://localhost');
  const name = decodeURIComponent(url.pathname.split('/').at(-1) ?? '');
  const content = contents.get(name);
  if (url.pathname === '/v1/files') return json(reply, { files: listing(url.searchParams) });
  if (content === undefined) return reply.writeHead(404).end();
  if (url.pathname.startsWith('/v1/stream/')) {
    const location = addressOf(name);
    if (url.searchParams.get('redirect') !== 'false')
      return reply.writeHead(307, { location, 'content-length': 0 }).end();
    return json(reply, { url: location, expiresAt: new Date(Date.now() + 900_000), size: content.size });
  }
  const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(headers.range ?? '') ?? [];
  const start = Number(first ?? 0);
  const end = last ? Math.min(content.size, Number(last) + 1) : content.size;
  reply.writeHead(first === undefined ? 200 : 206, {
    etag: '"one"',
    'last-modified': modified.toUTCString(),
    'accept-ranges': 'bytes',
    'content-length': end - start,
    ...(first !== undefined && { 'content-range': `bytes ${start}-${end - 1}/${content.size}` }),
  });
  return await send(reply, content, start, end);
});

function addressOf(name: string): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/storage/${encodeURIComponent(name)}?signed=yes`;
}

function listing(query: URLSearchParams): readonly unknown[] {
  const [page, perPage, after] = [Number(query.get('page')), Number(query.get('per_page')), query.get('after') ?? ''];
  return [...contents]
    .filter(([fileName]) => fileName > after)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .slice(page * perPage, (page + 1) * perPage)
    .map(([fileName, { size }]) => ({ fileName, size, modifiedDate: modified }));
}

function json(reply: ServerResponse, value: unknown): ServerResponse {
  const body = JSON.stringify(value);
  return reply
    .writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
    .end(body);
}

async function send(reply: ServerResponse, content: Content, start: number, end: number): Promise<void> {
  for (let at = start; at < end && !reply.destroyed; ) {
    const chunk = content.from(at, end);
    at += chunk.length;
    await carried(chunk.length);
    if (!reply.write(chunk)) await drained(reply);
  }
  reply.end();
}

/** Waits until the line has room for so many bytes more. */
async function carried(bytes: number): Promise<void> {
  const now = performance.now();
  lineFreeMs = Math.max(now, lineFreeMs) + (bytes * 8000) / line.bitsPerSecond;
  const waitMs = lineFreeMs - now - aheadMs;
  if (waitMs > 0) await setTimeout(waitMs);
}

process.once('message', (told: { readonly files: readonly ServedFile[]; readonly line: Line }) => {
  for (const file of told.files) contents.set(file.name, new Content(file));
  line = { ...line, ...told.line };
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
});
process.on('disconnect', () => process.exit());
