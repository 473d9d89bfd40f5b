import type { Socket } from 'node:net';
import tls from 'node:tls';
import { Agent, buildConnector, type Dispatcher, ProxyAgent } from 'undici';
import { systemTiming, type Timing } from '../../common/timing.ts';
import { fileSizeHeader } from '../../contract/http.ts';
import { ClientError, interrupted, throwIfInterrupted } from './errors.ts';
import { isLoopback, type ProxyVariables, proxyFor } from './forward-proxy.ts';
import { IncomingReply, type TransportReply } from './incoming-reply.ts';
import { networkError } from './network-error.ts';
import { ReadMemory } from './read-memory.ts';
import { Backoff, defaultRetryPolicy, type RetryPolicy } from './retry.ts';

export type { TransportReply } from './incoming-reply.ts';

export interface TransportSettings {
  /** Default: no proxies. */
  readonly proxies?: ProxyVariables;
  /** Certificates in PEM of authorities to trust besides those that Node.js trusts. */
  readonly extraAuthorities?: string | undefined;
  /** Whether `http://` is allowed to other machines; default: no. */
  readonly insecureHttp?: boolean;
  /** `User-Agent` of every request. */
  readonly userAgent: string;
  /** A connection on which no byte comes for so many milliseconds is given up; default 30,000. */
  readonly stallMs?: number;
  /** A connection that is not ready after so many milliseconds is given up; default 10,000. */
  readonly connectMs?: number;
  readonly retries?: RetryPolicy;
  readonly timing?: Timing;
}

export interface TransportRequest {
  readonly method?: 'GET' | 'HEAD' | 'OPTIONS' | 'POST';
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  /** Left out if the request goes through a forward proxy, which would take it for its own credentials. */
  readonly proxyAuthorization?: string | undefined;
  readonly body?: string;
  readonly signal?: AbortSignal | undefined;
}

const defaultStallMs = 30_000;
const defaultConnectMs = 10_000;
/** Shorter than the time for which storage and load balancers keep an idle connection. */
const keepAliveMs = 15_000;

/**
 * HTTP for the whole client. It keeps connections and uses them again, and respects forward proxies and additional
 * certificate authorities. It refuses `http://` to other machines. It never follows redirections, so that credentials reach
 * no other origin.
 */
export class Transport implements AsyncDisposable {
  readonly timing: Timing;
  readonly #settings: TransportSettings;
  readonly #dispatchers = new Map<string, Dispatcher>();
  /** Origins that have answered once: a later failure is more likely to pass. */
  readonly #known = new Set<string>();

  constructor(settings: TransportSettings) {
    this.#settings = settings;
    this.timing = settings.timing ?? systemTiming;
  }

  get retries(): RetryPolicy {
    return this.#settings.retries ?? defaultRetryPolicy;
  }

  /** A back-off for one piece of work. @param attempts default: those of {@link retries} */
  backoff(signal: AbortSignal | undefined, attempts = this.retries.attempts): Backoff {
    return new Backoff({ ...this.retries, attempts }, this.timing, signal);
  }

  /**
   * Sends one request, once. Any status is a reply.
   * @throws UnavailableError; ClientError `usage`, `interrupted`. Reading the body throws the same.
   */
  async send(request: TransportRequest): Promise<TransportReply> {
    const { url, method = 'GET', body, signal } = request;
    this.checkScheme(url);
    throwIfInterrupted(signal);
    const proxy = proxyFor(url, this.#settings.proxies ?? {});
    const failure = (error: unknown) =>
      signal?.aborted ? interrupted(error) : networkError(error, url, this.#known.has(url.origin), proxy);
    const reply = await new Promise<TransportReply>((started, failed) => {
      const incoming = new IncomingReply({ signal, started, failed, failure });
      const path = `${url.pathname}${url.search}`;
      const sent = {
        origin: url.origin,
        path,
        method,
        headers: this.#headersOf(request),
        ...(body !== undefined && { body }),
      };
      this.#dispatcher(proxy?.url).dispatch(sent, incoming);
    });
    this.#known.add(url.origin);
    return reply;
  }

  /** Bytes that count against a gateway's limit: the request line, and the names and values of all headers. */
  headerBytes(request: TransportRequest): number {
    const { url, method = 'GET' } = request;
    const added = { host: url.host, connection: 'keep-alive', ...this.#headersOf(request) };
    let bytes = `${method} ${url.pathname}${url.search} HTTP/1.1`.length;
    for (const [name, value] of Object.entries(added)) bytes += name.length + value.length;
    return bytes;
  }

  #headersOf({ url, headers, proxyAuthorization }: TransportRequest): Record<string, string> {
    const isDirect = proxyFor(url, this.#settings.proxies ?? {}) === undefined;
    return {
      'user-agent': this.#settings.userAgent,
      'accept-encoding': 'identity',
      ...headers,
      ...(isDirect && proxyAuthorization !== undefined && { 'proxy-authorization': proxyAuthorization }),
    };
  }

  /** @throws ClientError `usage` for `http://` to another machine, unless the settings allow it */
  checkScheme(url: URL): void {
    if (url.protocol === 'https:') return;
    if (url.protocol === 'http:' && (this.#settings.insecureHttp || isLoopback(url))) return;
    throw new ClientError(
      'usage',
      `${url.protocol}//${url.host} is not encrypted: others on the network could read your credentials`,
      {
        remedy: 'Use an https:// address, or give --insecure-http to accept the risk.',
      },
    );
  }

  /** Ends every connection; requests under way fail. */
  async close(): Promise<void> {
    await Promise.all([...this.#dispatchers.values()].map((dispatcher) => dispatcher.destroy()));
    this.#dispatchers.clear();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #dispatcher(proxy: URL | undefined): Dispatcher {
    const key = proxy?.href ?? '';
    const made = this.#dispatchers.get(key) ?? this.#makeDispatcher(proxy);
    this.#dispatchers.set(key, made);
    return made;
  }

  #makeDispatcher(proxy: URL | undefined): Dispatcher {
    const { stallMs = defaultStallMs, connectMs = defaultConnectMs, extraAuthorities } = this.#settings;
    const ca = extraAuthorities === undefined ? undefined : [...trustedAuthorities(), extraAuthorities];
    const tls = { timeout: connectMs, ...(ca && { ca }) };
    const options: Agent.Options = {
      headersTimeout: stallMs,
      bodyTimeout: stallMs,
      keepAliveTimeout: keepAliveMs,
      // One request at a time on a connection: no request waits behind a large reply.
      pipelining: 1,
    };
    return proxy === undefined
      ? new Agent({ ...options, connect: largeReads(tls) })
      : new ProxyAgent({ ...options, connect: tls, uri: proxy.href, requestTls: tls, proxyTls: tls });
  }
}

function trustedAuthorities(): readonly string[] {
  // Node.js before 22.15 has only the second.
  return typeof tls.getCACertificates === 'function' ? tls.getCACertificates('default') : tls.rootCertificates;
}

/**
 * Bytes of the whole file of a reply with status 200; `undefined` if the reply does not say. The service's own header comes
 * first: a gateway on the way may rewrite `Content-Length` as 0 for a reply without a body.
 */
export function fileSize(reply: Pick<TransportReply, 'header'>): number | undefined {
  const text = reply.header(fileSizeHeader) ?? reply.header('content-length') ?? '';
  return /^\d+$/.test(text) ? Number(text) : undefined;
}

/**
 * Makes connections that read up to 1 MiB at once. By default Node.js reads 64 KiB at once, each time into new memory; in a
 * large transfer that is most of the work.
 */
export function largeReads(options: buildConnector.BuildOptions): buildConnector.connector {
  return (target, callback) => {
    let socket: Socket | undefined;
    const memory = new ReadMemory();
    const onread = {
      buffer: () => memory.next(),
      // False pauses the socket until the consumer has caught up.
      callback: (bytes: number) => socket?.push(memory.read(bytes)) ?? false,
    };
    // The connector returns the socket, although its declaration does not say so.
    socket = buildConnector({ ...options, onread } as buildConnector.BuildOptions)(
      target,
      callback,
    ) as unknown as Socket;
  };
}
