import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { stopServer } from '../../lib/local/http.ts';
import { listenLocally } from './loopback.ts';

/** What goes wrong with a request. `bytes` count from the start of the reply's body, `at` from the start of the file. */
export type FaultKind =
  | { readonly kind: 'cut'; readonly bytes: number }
  | { readonly kind: 'stall'; readonly bytes: number }
  /** Every bit of one byte is turned, wherever a range has it. */
  | { readonly kind: 'corrupt'; readonly at: number }
  /** Answered by the proxy itself. */
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string;
    }
  /** The range is removed from the request, as some proxies do. */
  | { readonly kind: 'no range' }
  /** The connection is broken off before an answer. */
  | { readonly kind: 'refuse' }
  | { readonly kind: 'delay'; readonly milliseconds: number }
  /** Storage says that the address has expired, for every address handed out until now. */
  | { readonly kind: 'expire' };

export interface Fault {
  readonly fault: FaultKind;
  /** Which requests: to the API or to storage. */
  readonly on: 'api' | 'storage';
  /** Only of paths that match; default: all. */
  readonly path?: RegExp;
  /** How often; default 1. */
  readonly times?: number;
  /** So many requests that fit are let through first; default 0. */
  readonly skip?: number;
}

export interface SeenRequest {
  readonly on: 'api' | 'storage';
  readonly method: string;
  /** Without the query: of storage it is a secret. */
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  status: number;
  /** Bytes of the body that were passed on. */
  bytes: number;
}

const storagePath = /^\/storage\/(\d+)\/([^/]+)(\/.*)$/;

/**
 * A reverse proxy in front of the delivery API that breaks what it is told to break. It passes on the addresses that the API
 * gives out as its own, so that storage is also reached through it; storage still sees the host that was signed.
 */
export class FaultProxy {
  readonly requests: SeenRequest[] = [];
  readonly #target: URL;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #faults: { fault: FaultKind; on: string; path: RegExp | undefined; times: number; skip: number }[] = [];
  #generation = 1;
  #expiredBefore = 0;

  private constructor(target: URL) {
    this.#target = target;
    this.#server = createServer((incoming, outgoing) => void this.#handle(incoming, outgoing));
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      this.connections += 1;
      socket.on('close', () => this.#sockets.delete(socket));
    });
  }

  /** @param target base URL of the API */
  static async start(target: string): Promise<FaultProxy> {
    const proxy = new FaultProxy(new URL(target));
    await listenLocally(proxy.#server);
    return proxy;
  }

  /** Base URL to give to the client instead of the target's. */
  get url(): string {
    return `http://127.0.0.1:${this.#port}${this.#target.pathname}`;
  }

  get #port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Connections that were opened so far. */
  connections = 0;
  /** Called with each piece of a body of storage; it is passed on afterwards. */
  onBytes: (() => Promise<unknown> | undefined) | undefined;

  break(...faults: readonly Fault[]): void {
    for (const { fault, on, path, times = 1, skip = 0 } of faults) {
      if (fault.kind === 'expire') {
        this.#expiredBefore = this.#generation;
        this.#generation += 1;
      } else {
        this.#faults.push({ fault, on, path, times, skip });
      }
    }
  }

  /** No faults and no memory of requests. */
  reset(): void {
    this.#faults = [];
    this.requests.length = 0;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await stopServer(this.#server);
  }

  async #handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { url = '/', method = 'GET', headers } = incoming;
    const [, generation, host, rest] = storagePath.exec(url) ?? [];
    const on = rest === undefined ? 'api' : 'storage';
    const path = (rest ?? url).replace(/\?.*/s, '');
    const seen: SeenRequest = { on, method, path, headers, status: 0, bytes: 0 };
    this.requests.push(seen);
    const target = rest === undefined ? this.#target : new URL(`http://${decodeURIComponent(host ?? '')}`);
    if (on === 'storage' && Number(generation) <= this.#expiredBefore) {
      return this.#answer(seen, outgoing, { kind: 'answer', status: 403 });
    }
    const faults = this.#taken(on, path);
    for (const fault of faults) {
      if (fault.kind === 'delay') await new Promise((resolve) => setTimeout(resolve, fault.milliseconds));
      if (fault.kind === 'refuse') return void incoming.socket.destroy();
      if (fault.kind === 'answer') return this.#answer(seen, outgoing, fault);
    }
    const { range, ...others } = headers;
    const isCut = faults.some(({ kind }) => kind === 'no range');
    const sent = request({
      hostname: target.hostname,
      port: target.port,
      path: rest ?? url,
      method,
      headers: { ...others, ...(range && !isCut && { range }), host: target.host, connection: 'close' },
    });
    outgoing.on('close', () => sent.destroy());
    sent.on('error', () => incoming.socket.destroy());
    sent.on('response', (reply) => void this.#pass(seen, reply, outgoing, faults));
    incoming.pipe(sent);
  }

  #answer(seen: SeenRequest, outgoing: ServerResponse, fault: Extract<FaultKind, { kind: 'answer' }>): void {
    seen.status = fault.status;
    outgoing.writeHead(fault.status, fault.headers);
    outgoing.end(fault.body);
  }

  async #pass(
    seen: SeenRequest,
    reply: IncomingMessage,
    outgoing: ServerResponse,
    faults: readonly FaultKind[],
  ): Promise<void> {
    seen.status = reply.statusCode ?? 0;
    const { connection: _hop, 'keep-alive': _hops, ...headers } = reply.headers;
    try {
      if (seen.on === 'api' && /\/stream\//.test(seen.path) && seen.status === 200) {
        return await this.#passLocations(reply, outgoing, headers);
      }
      outgoing.writeHead(seen.status, headers);
      let offset = Number(/^bytes (\d+)-/.exec(reply.headers['content-range'] ?? '')?.[1] ?? 0);
      for await (const chunk of reply as AsyncIterable<Buffer>) {
        const { bytes, then } = broken(chunk, seen.bytes, offset, faults);
        offset += chunk.length;
        seen.bytes += bytes.length;
        if (seen.on === 'storage') await this.onBytes?.();
        if (!outgoing.write(bytes)) await drained(outgoing);
        if (outgoing.destroyed) return;
        if (then === 'cut') return void setTimeout(() => outgoing.destroy(), 5);
        if (then === 'stall') return;
      }
      outgoing.end();
    } catch {
      outgoing.destroy();
    }
  }

  async #passLocations(reply: IncomingMessage, outgoing: ServerResponse, headers: IncomingMessage['headers']) {
    const chunks: Buffer[] = [];
    for await (const chunk of reply as AsyncIterable<Buffer>) chunks.push(chunk);
    const own = `http://127.0.0.1:${this.#port}/storage/${this.#generation}/`;
    const document: unknown = JSON.parse(Buffer.concat(chunks).toString(), (name, value) => {
      return name === 'url'
        ? own + value.replace(/^http:\/\/([^/]+)/, (_: string, host: string) => encodeURIComponent(host))
        : value;
    });
    const body = Buffer.from(JSON.stringify(document));
    const { 'transfer-encoding': _encoding, ...rest } = headers;
    outgoing.writeHead(200, { ...rest, 'content-length': String(body.length) });
    outgoing.end(body);
  }

  #taken(on: string, path: string): FaultKind[] {
    const fitting = this.#faults.filter((fault) => fault.on === on && (fault.path?.test(path) ?? true));
    const due = fitting.filter((fault) => fault.skip === 0);
    for (const fault of fitting) {
      if (fault.skip > 0) fault.skip -= 1;
      else fault.times -= 1;
    }
    this.#faults = this.#faults.filter(({ times }) => times > 0);
    return due.map(({ fault }) => fault);
  }
}

/** A chunk after the faults, and what comes after it. */
function broken(chunk: Buffer, passed: number, offset: number, faults: readonly FaultKind[]) {
  let bytes = chunk;
  let then: 'cut' | 'stall' | undefined;
  for (const fault of faults) {
    if (fault.kind === 'corrupt' && fault.at >= offset && fault.at < offset + chunk.length) {
      bytes = Buffer.from(bytes);
      bytes[fault.at - offset] = ~(bytes[fault.at - offset] ?? 0) & 0xff;
    }
    if ((fault.kind === 'cut' || fault.kind === 'stall') && passed + chunk.length >= fault.bytes) {
      bytes = bytes.subarray(0, fault.bytes - passed);
      then = fault.kind;
    }
  }
  return { bytes, then };
}

/** Waits until more can be written, or the reader is gone. */
export async function drained(outgoing: ServerResponse): Promise<void> {
  await new Promise<void>((resolve) => {
    const go = () => {
      outgoing.off('drain', go);
      outgoing.off('close', go);
      resolve();
    };
    outgoing.on('drain', go);
    outgoing.on('close', go);
  });
}
