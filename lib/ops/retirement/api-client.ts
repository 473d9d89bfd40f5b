import type * as z from 'zod';
import type { Timing } from '../../common/timing.ts';
import { failureOf, type Reply } from './api-failure.ts';
import { isNotFound, isTransient, RetirementError } from './errors.ts';

/** Version of the platform's API that the replies are read by; sent with every call. */
const apiVersion = '2022-11-28';
/** What the platform calls its JSON. */
const vendorMediaType = 'application/vnd.github+json';
/** Entries of a page: the most that the platform gives. */
const perPage = 100;
/** Times that a read is sent again after a server error or a lost answer: after 1, 4 and 9 seconds. */
const retries = 3;
/** Times that a read waits for a rate limit. */
const rateLimitWaits = 5;
/** Milliseconds between two writes that the platform asks for. */
const writeSpacing = 1000;

/** How long a call may wait, and who hears of it. */
export interface Waiting {
  readonly timing: Timing;
  readonly signal: AbortSignal;
  /** Longest wait for a rate limit, in seconds; a longer one ends the run. */
  readonly maxWaitSeconds: number;
  /** A remark for a person who waits. */
  readonly note: (text: string) => void;
}

export interface ApiClientOptions extends Waiting {
  /** Base address of the API, without a final slash. */
  readonly baseUrl: string;
  readonly token: string;
  /** The variable that holds the token, for messages. */
  readonly tokenName: string;
  /** The scope that the token's calls need, for messages. */
  readonly scope: string;
  readonly userAgent: string;
  /** Milliseconds after which a call without an answer is given up. */
  readonly timeoutMs: number;
  readonly record: (call: CallRecord) => void;
}

/** One call, as it is kept for evidence. No token, no body. */
export interface CallRecord {
  /** When it was sent; RFC 3339. */
  readonly at: string;
  readonly method: string;
  /** With the query. */
  readonly path: string;
  /** Name of the variable that held the token. */
  readonly token: string;
  /** `null` when no reply came. */
  readonly status: number | null;
  /** The platform's id of the request, for its support; `null` when it gave none. */
  readonly requestId: string | null;
  /** What happened instead of a whole reply; absent when one came. */
  readonly failure?: string;
}

type Parameters = Readonly<Record<string, string | number>>;

/**
 * The platform's API with one token. A path names its parameters in braces: `/orgs/{org}`. Reads are sent again after
 * server errors, lost answers and rate limits. Writes never are: the caller first checks whether a lost one had an effect.
 */
export class ApiClient {
  readonly #options: ApiClientOptions;
  readonly tokenName: string;
  readonly scope: string;
  /** The token's scopes, once a reply has named them; `undefined` for tokens that have none, but permissions. */
  scopes: readonly string[] | undefined;
  #lastWrite = Number.NEGATIVE_INFINITY;

  constructor(options: ApiClientOptions) {
    this.#options = options;
    this.tokenName = options.tokenName;
    this.scope = options.scope;
  }

  /** @throws RetirementError */
  async get<T>(path: string, parameters: Parameters, schema: z.ZodType<T>): Promise<T> {
    const { data } = await this.#read(this.#url(path, parameters));
    return parseReply(schema, data, path);
  }

  /** The value, or `undefined` for what the platform does not find. @throws RetirementError */
  async find<T>(path: string, parameters: Parameters, schema: z.ZodType<T>): Promise<T | undefined> {
    return await this.get(path, parameters, schema).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
      return undefined;
    });
  }

  /** Every entry of all pages. @throws RetirementError */
  async list<T>(path: string, parameters: Parameters, schema: z.ZodType<T[]>): Promise<T[]> {
    const entries: T[] = [];
    let page: URL | undefined = this.#url(`${path}?per_page=${perPage}`, parameters);
    while (page) {
      const { data, headers }: Reply = await this.#read(page);
      entries.push(...parseReply(schema, data, path));
      const next = /<([^<>]+)>;\s*rel="next"/.exec(headers.get('link') ?? '')?.[1];
      page = next === undefined ? undefined : new URL(next, page);
    }
    return entries;
  }

  /**
   * Send a write once, with `body` as JSON.
   * @throws RetirementError; a 404 means no access, because the caller has just seen what it writes to
   */
  async write(method: 'DELETE' | 'PATCH', path: string, parameters: Parameters, body?: object): Promise<void> {
    const { timing, signal } = this.#options;
    const early = this.#lastWrite + writeSpacing - timing.now().getTime();
    if (early > 0) await timing.sleep(early, signal);
    this.#lastWrite = timing.now().getTime();
    await this.#send(method, this.#url(path, parameters), body).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
      const text = `the platform answers 404 to ${method}: ${this.tokenName} may see it and not change it`;
      throw new RetirementError('access_denied', text, { status: 404, cause: error });
    });
  }

  #url(path: string, parameters: Parameters): URL {
    const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(parameters[name] ?? ''));
    return new URL(this.#options.baseUrl + filled);
  }

  async #read(url: URL): Promise<Reply> {
    const { timing, signal, note, maxWaitSeconds } = this.#options;
    let failures = 0;
    let waits = 0;
    while (true) {
      try {
        return await this.#send('GET', url);
      } catch (error) {
        if (!isTransient(error)) throw error;
        const { retryAfterSeconds: limit } = error;
        if (limit === undefined) {
          if (++failures > retries) throw error;
          note(`no good answer to GET ${url.pathname}; trying again in ${failures ** 2} s`);
          await timing.sleep(failures ** 2 * 1000, signal);
        } else {
          if (++waits > rateLimitWaits || limit > maxWaitSeconds) throw error;
          const until = new Date(timing.now().getTime() + limit * 1000).toISOString();
          note(`the rate limit of ${this.tokenName} is reached: waiting ${limit} s, until ${until}`);
          await timing.sleep(limit * 1000, signal);
        }
      }
    }
  }

  /**
   * The one place that sends anything. It gives the token to the base URL's origin alone, follows no redirect, and takes a reply only
   * when it is whole: an empty page instead of a broken one would say that an image is gone.
   * @throws RetirementError for a status of 300 and more, and for no answer; what the signal was aborted with
   */
  async #send(method: string, url: URL, body?: object): Promise<Reply> {
    const { baseUrl, token, userAgent, timeoutMs, signal, timing, record } = this.#options;
    signal.throwIfAborted();
    const { origin } = new URL(baseUrl);
    if (url.origin !== origin)
      throw new RetirementError('refused', `a reply leads to ${url.origin}, which is not ${origin}`);
    const call = { at: timing.now().toISOString(), method, path: url.pathname + url.search, token: this.tokenName };
    let seen: Pick<CallRecord, 'status' | 'requestId'> = { status: null, requestId: null };
    let reply: Reply;
    try {
      const response = await fetch(url, {
        method,
        headers: {
          accept: vendorMediaType,
          authorization: `Bearer ${token}`,
          'user-agent': userAgent,
          'x-github-api-version': apiVersion,
          ...(body && { 'content-type': 'application/json' }),
        },
        body: body ? JSON.stringify(body) : null,
        redirect: 'manual',
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      });
      const { status, headers } = response;
      seen = { status, requestId: headers.get('x-github-request-id') };
      reply = { status, headers, data: await readJson(response) };
    } catch (error) {
      const failure = describe(error);
      record({ ...call, ...seen, failure });
      signal.throwIfAborted();
      if (error instanceof RetirementError) throw error;
      const text = `no answer to ${method} ${url.pathname}: ${failure}`;
      throw new RetirementError('network_failure', text, { cause: error });
    }
    record({ ...call, ...seen });
    const scopes = reply.headers.get('x-oauth-scopes')?.match(/[^\s,]+/g);
    if (scopes) this.scopes = scopes;
    if (reply.status >= 300) throw failureOf(reply, { ...this.#options, method, path: url.pathname });
    return reply;
  }
}

/** @throws RetirementError when a reply that should be JSON is not */
async function readJson(reply: Response): Promise<unknown> {
  const text = await reply.text();
  const isJson = /^application\/([\w.-]+\+)?json\b/i.test(reply.headers.get('content-type') ?? '');
  try {
    if (isJson) return JSON.parse(text);
  } catch {
    // Told below, when the reply is one that counts.
  }
  if (reply.status !== 200) return undefined;
  const message = 'the reply is not JSON: is this the base URL of the API?';
  throw new RetirementError('server_error', message, { status: reply.status });
}

/** The innermost reason, in one word where the system has one: `ECONNRESET`. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause instanceof Error) return describe(error.cause);
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message || error.name;
}

function parseReply<T>(schema: z.ZodType<T>, data: unknown, path: string): T {
  const { success, data: parsed } = schema.safeParse(data);
  if (success) return parsed as T;
  throw new RetirementError('server_error', `GET ${path} answered something else than its description says`);
}
