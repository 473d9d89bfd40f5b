import tls from 'node:tls';
import { Agent, type Dispatcher, ProxyAgent } from 'undici';
import { systemTiming, type Timing } from '../contract/timing.ts';
import { chunksOf } from './chunks-of.ts';
import { ClientError, interrupted, throwIfInterrupted } from './errors.ts';
import { type ForwardProxies, isLoopback, proxyFor } from './forward-proxy.ts';
import { largeReads } from './large-reads.ts';
import { networkError } from './network-error.ts';
import { Backoff, defaultRetryPolicy, type RetryPolicy } from './retry.ts';

export interface TransportSettings {
  /** Default: none. */
  readonly proxies?: ForwardProxies;
  /** Certificates in PEM of authorities that are trusted besides those that Node.js trusts. */
  readonly extraAuthorities?: string | undefined;
  /** Whether `http://` may be used with other machines; default: no. */
  readonly insecureHttp?: boolean;
  /** `User-Agent` of every request. */
  readonly userAgent: string;
  /** A connection on which so long nothing comes, in milliseconds, is given up; default 30,000. */
  readonly stallMs?: number;
  readonly connectMs?: number;
  readonly retries?: RetryPolicy;
  readonly timing?: Timing;
}

export interface TransportRequest {
  readonly method?: 'GET' | 'HEAD' | 'POST';
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  /** Left out where the request goes through a proxy, which would take it for its own credentials. */
  readonly proxyAuthorization?: string | undefined;
  readonly body?: string;
  readonly signal?: AbortSignal | undefined;
}

export interface TransportReply {
  readonly status: number;
  /** Value of a header; several are joined. */
  header(name: string): string | undefined;
  /** To be read to its end or given up with `discard`: a connection is free again only then. */
  readonly body: AsyncIterable<Uint8Array>;
  text(maximumBytes?: number): Promise<string>;
  /** Ends a reply of which nothing more is wanted. */
  discard(): Promise<void>;
}

const defaultStallMs = 30_000;
const defaultConnectMs = 10_000;
/** Shorter than storage and load balancers keep an idle connection. */
const keepAliveMs = 15_000;
/** Bytes that have come and that nobody has taken yet, of one reply. */
const heldBytes = 1024 * 1024;
const defaultTextBytes = 1024 * 1024;

/**
 * HTTP as the whole client does it: connections are kept and used again, forward proxies and additional certificate
 * authorities respected, `http://` refused but on this machine. Redirections are never followed, so that credentials
 * stay with the origin they are meant for.
 */
export class Transport implements AsyncDisposable {
  readonly timing: Timing;
  readonly #settings: TransportSettings;
  readonly #dispatchers = new Map<string, Dispatcher>();
  /** Origins that have answered once: what they fail with later is more likely to pass. */
  readonly #known = new Set<string>();

  constructor(settings: TransportSettings) {
    this.#settings = settings;
    this.timing = settings.timing ?? systemTiming;
  }

  get retries(): RetryPolicy {
    return this.#settings.retries ?? defaultRetryPolicy;
  }

  /** For work that is tried several times. */
  backoff(signal: AbortSignal | undefined): Backoff {
    return new Backoff(this.retries, this.timing, signal);
  }

  /**
   * One request, tried once. Any status is a reply.
   *
   * @throws UnavailableError; ClientError `usage`, `interrupted`. The body throws the same.
   */
  async send(request: TransportRequest): Promise<TransportReply> {
    const { url, method = 'GET', body, signal } = request;
    this.checkScheme(url);
    throwIfInterrupted(signal);
    const proxy = proxyFor(url, this.#settings.proxies ?? {});
    const failure = (error: unknown) =>
      signal?.aborted ? interrupted(error) : networkError(error, url, this.#known.has(url.origin));
    try {
      const reply = await this.#dispatcher(proxy).request({
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        method,
        headers: this.#headersOf(request),
        ...(body !== undefined && { body }),
        ...(signal !== undefined && { signal }),
        highWaterMark: heldBytes,
      });
      this.#known.add(url.origin);
      return asReply(reply, failure);
    } catch (error) {
      throw failure(error);
    }
  }

  /** What counts against a gateway's limit: bytes of the request line, of the names and of the values of all headers. */
  headerBytes(request: TransportRequest): number {
    const { url, method = 'GET' } = request;
    const added = { host: url.host, connection: 'keep-alive', ...this.#headersOf(request) };
    const line = `${method} ${url.pathname}${url.search} HTTP/1.1`;
    return Object.entries(added).reduce((sum, [name, value]) => sum + name.length + value.length, line.length);
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

  /**
   * @throws ClientError `usage` when the URL is neither `https://` nor this machine, unless that was allowed
   */
  checkScheme(url: URL): void {
    if (url.protocol === 'https:') return;
    if (url.protocol === 'http:' && (this.#settings.insecureHttp || isLoopback(url))) return;
    throw new ClientError(
      'usage',
      `${url.protocol}//${url.host} is not encrypted: anybody on the way could read the credentials`,
      {
        remedy: 'Use an https:// address. With --insecure-http the client goes on all the same.',
      },
    );
  }

  /** Ends every connection; what is under way fails. */
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
      // One request at a time on a connection: behind a large reply no other must wait.
      pipelining: 1,
    };
    return proxy === undefined
      ? new Agent({ ...options, connect: largeReads(tls) })
      : new ProxyAgent({ ...options, connect: tls, uri: proxy.href, requestTls: tls, proxyTls: tls });
  }
}

/** What Node.js trusts, with what `NODE_EXTRA_CA_CERTS` names. */
function trustedAuthorities(): readonly string[] {
  // Node.js 22 has the second before 22.15.
  return typeof tls.getCACertificates === 'function' ? tls.getCACertificates('default') : tls.rootCertificates;
}

function asReply(reply: Dispatcher.ResponseData, failure: (error: unknown) => unknown): TransportReply {
  const { statusCode: status, headers, body } = reply;
  // A body that breaks after it was given up is nobody's business.
  body.on('error', () => undefined);
  async function* bytes(): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      yield* chunksOf(body, heldBytes);
    } catch (error) {
      throw failure(error);
    }
  }
  return {
    status,
    header(name) {
      const value = headers[name.toLowerCase()];
      return Array.isArray(value) ? value.join(', ') : value;
    },
    body: { [Symbol.asyncIterator]: bytes },
    async text(maximumBytes = defaultTextBytes) {
      const chunks: Uint8Array[] = [];
      let size = 0;
      for await (const chunk of bytes()) {
        size += chunk.length;
        if (size > maximumBytes) {
          body.destroy();
          throw new ClientError('protocol', `the reply is longer than ${maximumBytes} bytes`);
        }
        chunks.push(chunk);
      }
      return Buffer.concat(chunks).toString('utf8');
    },
    async discard() {
      body.destroy();
    },
  };
}
