import { setMaxListeners } from 'node:events';
import tls from 'node:tls';
import { Agent, type Dispatcher, ProxyAgent } from 'undici';
import { systemTiming, type Timing } from '../../common/timing.ts';
import { ClientError, interrupted, throwIfInterrupted } from './errors.ts';
import { isLoopback, type ProxyVariables, proxyFor } from './forward-proxy.ts';
import { networkError, systemStoreIsTrusted } from './network-error.ts';
import { backoffOf, defaultRetryPolicy, type RetryPolicy } from './retry.ts';

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
  readonly retries?: RetryPolicy;
  readonly timing?: Timing;
}

export interface TransportRequest {
  readonly method?: 'GET' | 'HEAD' | 'POST';
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal | undefined;
}

export interface TransportReply {
  readonly status: number;
  /** Value of a header; several values are joined. */
  header(name: string): string | undefined;
  /** Read it to its end or give it up with `discard`: only then is the connection free again. */
  readonly body: AsyncIterable<Uint8Array>;
  text(maximumBytes?: number): Promise<string>;
  /** Ends a reply whose rest is not wanted. */
  discard(): Promise<void>;
}

/** A connection that is not ready after this time is given up. */
const connectMs = 10_000;
/** Shorter than the time for which storage and load balancers keep an idle connection. */
const keepAliveMs = 15_000;
const defaultTextBytes = 1024 * 1024;

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
  /** The library ends no connection that is being made, and a process would wait for it. */
  readonly #closing = new AbortController();

  constructor(settings: TransportSettings) {
    this.#settings = settings;
    this.timing = settings.timing ?? systemTiming;
    setMaxListeners(0, this.#closing.signal);
  }

  /** Counts the failures of one piece of work, and waits between them. @param attempts default: those of the settings */
  backoff(signal: AbortSignal | undefined, attempts?: number) {
    const policy = this.#settings.retries ?? defaultRetryPolicy;
    return backoffOf({ ...policy, ...(attempts !== undefined && { attempts }) }, this.timing, signal);
  }

  /**
   * Sends one request, once. Any status is a reply.
   * @throws UnavailableError; ClientError `usage`, `interrupted`. Reading the body throws the same.
   */
  async send(request: TransportRequest): Promise<TransportReply> {
    const { url, method = 'GET', body = null, signal } = request;
    this.checkScheme(url);
    throwIfInterrupted(signal);
    const proxy = proxyFor(url, this.#settings.proxies ?? {});
    const withStore = systemStoreIsTrusted();
    const failure = (error: unknown) =>
      signal?.aborted
        ? interrupted(error)
        : networkError(error, url, { known: this.#known.has(url.origin), proxy, withStore });
    try {
      const asked = { origin: url.origin, path: `${url.pathname}${url.search}`, method, body, signal: signal ?? null };
      const work = this.#dispatcher(proxy?.url).request({ ...asked, headers: this.#headersOf(request) });
      const reply = await orStopped(work, signal);
      this.#known.add(url.origin);
      return replyOf(reply, failure);
    } catch (error) {
      throw failure(error);
    }
  }

  /** The proxy of the user's network, or the server, that answers requests to `url`: for messages. */
  answererOf(url: URL): string {
    const proxy = proxyFor(url, this.#settings.proxies ?? {});
    return proxy ? `your forward proxy ${proxy.url.host} (${proxy.variable})` : url.host;
  }

  /** Bytes that count against a gateway's limit: the request line, and the names and values of all headers. */
  headerBytes(request: TransportRequest): number {
    const { url, method = 'GET' } = request;
    const added = { host: url.host, connection: 'keep-alive', ...this.#headersOf(request) };
    let bytes = `${method} ${url.pathname}${url.search} HTTP/1.1`.length;
    for (const [name, value] of Object.entries(added)) bytes += name.length + value.length;
    return bytes;
  }

  #headersOf({ headers }: TransportRequest): Record<string, string> {
    return { 'user-agent': this.#settings.userAgent, 'accept-encoding': 'identity', ...headers };
  }

  /** @throws ClientError `usage` for `http://` to another machine, unless the settings allow it */
  checkScheme(url: URL): void {
    if (url.protocol === 'https:') return;
    if (url.protocol === 'http:' && (this.#settings.insecureHttp || isLoopback(url))) return;
    const place = `${url.protocol}//${url.host}`;
    throw new ClientError('usage', `${place} is not encrypted: others on the network could read your credentials`, {
      remedy: 'Use an https:// address, or give --insecure-http to accept the risk.',
    });
  }

  /** Ends every connection, also those that are being made; requests under way fail. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all([...this.#dispatchers.values()].map((dispatcher) => dispatcher.destroy()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #dispatcher(proxy: URL | undefined): Dispatcher {
    // A dispatcher keeps the authorities that were trusted when it was made.
    const key = `${systemStoreIsTrusted()} ${proxy?.href ?? ''}`;
    const made = this.#dispatchers.get(key) ?? this.#makeDispatcher(proxy);
    this.#dispatchers.set(key, made);
    return made;
  }

  /** The library's `EnvHttpProxyAgent` knows neither `ALL_PROXY` nor networks in `NO_PROXY`, and names no SOCKS proxy. */
  #makeDispatcher(proxy: URL | undefined): Dispatcher {
    const { stallMs = 30_000, extraAuthorities } = this.#settings;
    const ca = extraAuthorities === undefined ? undefined : [...trustedAuthorities(), extraAuthorities];
    const connect = { timeout: connectMs, signal: this.#closing.signal, ...(ca && { ca }) };
    const options: Agent.Options = {
      headersTimeout: stallMs,
      bodyTimeout: stallMs,
      keepAliveTimeout: keepAliveMs,
      // One request at a time on a connection: no request waits behind a large reply.
      pipelining: 1,
    };
    if (proxy === undefined) return new Agent({ ...options, connect });
    return new ProxyAgent({ ...options, uri: proxy.href, requestTls: connect, proxyTls: connect });
  }
}

function replyOf(
  { statusCode, headers, body }: Dispatcher.ResponseData,
  failure: (error: unknown) => unknown,
): TransportReply {
  async function* chunks(): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for await (const chunk of body as AsyncIterable<Uint8Array>) yield chunk;
    } catch (error) {
      throw failure(error);
    }
  }
  return {
    status: statusCode,
    header(name) {
      const value = headers[name.toLowerCase()];
      return Array.isArray(value) ? value.join(', ') : value;
    },
    body: { [Symbol.asyncIterator]: chunks },
    async text(maximumBytes = defaultTextBytes) {
      const found: Uint8Array[] = [];
      let size = 0;
      for await (const chunk of chunks()) {
        size += chunk.length;
        if (size > maximumBytes) throw new ClientError('protocol', `the reply is longer than ${maximumBytes} bytes`);
        found.push(chunk);
      }
      return Buffer.concat(found).toString('utf8');
    },
    async discard() {
      // Its error is that of the reply that nobody wants.
      body.on('error', () => undefined).destroy();
    },
  };
}

/** The library begins to look at the signal when it has a connection. */
async function orStopped<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  signal?.addEventListener('abort', reject, { once: true });
  return await Promise.race([work, promise]).finally(() => signal?.removeEventListener('abort', reject));
}

function trustedAuthorities(): readonly string[] {
  // Node.js before 22.15 has only the second.
  return typeof tls.getCACertificates === 'function' ? tls.getCACertificates('default') : tls.rootCertificates;
}
