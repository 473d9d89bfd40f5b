import type * as z from 'zod';
import { failureOf, noAnswer } from './api-failure.ts';
import { isNotFound, isTransient, RetirementError } from './errors.ts';
import { type RecordedFetch, type RecordedFetchOptions, type Reply, recordedFetch } from './recorded-fetch.ts';

/** Entries of a page: the most that the platform gives. */
const perPage = 100;
/** Times that a read is sent again after a server error or a lost answer: after 1, 4 and 9 seconds. */
const retries = 3;
/** Times that a read waits for a rate limit. */
const rateLimitWaits = 5;
/** Milliseconds between two writes that the platform asks for. */
const writeSpacing = 1000;

export interface ApiClientOptions extends RecordedFetchOptions {
  /** Base address of the API, without a final slash. */
  readonly baseUrl: string;
  /** The variable that holds the token, for messages. */
  readonly tokenName: string;
  /** The scope that it needs, for messages. */
  readonly scope: string;
  /** Longest wait for a rate limit, in seconds; a longer one ends the run. */
  readonly maxWaitSeconds: number;
  /** A remark for a person who waits. */
  readonly note: (text: string) => void;
}

type Parameters = Readonly<Record<string, string | number>>;

/**
 * The platform's API with one token. A path names its parameters in braces: `/orgs/{org}`. Reads are sent again after
 * server errors, lost answers and rate limits. Writes never are: the caller first looks whether a lost one had an effect.
 */
export class ApiClient {
  readonly #options: ApiClientOptions;
  readonly #fetch: RecordedFetch;
  #scopes: readonly string[] | undefined;
  #lastWrite = Number.NEGATIVE_INFINITY;

  constructor(options: ApiClientOptions) {
    this.#options = options;
    this.#fetch = recordedFetch(options);
  }

  /** The token's scopes, once a reply has named them; `undefined` for tokens that have none, but permissions. */
  get scopes(): readonly string[] | undefined {
    return this.#scopes;
  }

  get tokenName(): string {
    return this.#options.tokenName;
  }

  get scope(): string {
    return this.#options.scope;
  }

  /** @throws RetirementError */
  async get<T>(path: string, parameters: Parameters, schema: z.ZodType<T>): Promise<T> {
    const { data } = await this.#read(this.#url(path, parameters));
    return parseReply(schema, data, path);
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
    try {
      await this.#send(method, this.#url(path, parameters), body);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      const text = `the platform answers 404 to ${method}: ${this.tokenName} may see it and not change it`;
      throw new RetirementError('access_denied', text, { status: 404, cause: error });
    }
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

  /** @throws RetirementError for a status of 300 and more, and for no answer; what the signal was aborted with */
  async #send(method: string, url: URL, body?: object): Promise<Reply> {
    const { signal } = this.#options;
    const call = { ...this.#options, method, path: url.pathname };
    signal.throwIfAborted();
    let reply: Reply;
    try {
      reply = await this.#fetch(method, url, body);
    } catch (error) {
      signal.throwIfAborted();
      throw error instanceof RetirementError ? error : noAnswer(error, call);
    }
    const scopes = reply.headers.get('x-oauth-scopes')?.match(/[^\s,]+/g);
    if (scopes) this.#scopes = scopes;
    if (reply.status >= 300) throw failureOf(reply, call);
    return reply;
  }
}

function parseReply<T>(schema: z.ZodType<T>, data: unknown, path: string): T {
  const { success, data: parsed } = schema.safeParse(data);
  if (success) return parsed as T;
  throw new RetirementError('server_error', `GET ${path} answered something else than its description says`);
}
