import { Octokit } from '@octokit/core';
import type { OctokitOptions } from '@octokit/core/types';
import { paginateRest } from '@octokit/plugin-paginate-rest';
import { retry } from '@octokit/plugin-retry';
import { throttling } from '@octokit/plugin-throttling';
import type * as z from 'zod';
import type { Timing } from '../contract/timing.ts';
import { failureOf } from './api-failure.ts';
import { isNotFound, RetirementError } from './errors.ts';
import { type CallRecord, recordedFetch } from './recorded-fetch.ts';

/** Version of the platform's API that the replies are read by; sent with every call. */
export const apiVersion = '2022-11-28';

/** What the platform calls its JSON. */
export const vendorMediaType = 'application/vnd.github+json';

const perPage = 100;
/** Times that a read is sent again after a server error or a lost answer: after 1, 4 and 9 seconds. */
const retries = 3;
/** Times that a read waits for a rate limit. */
const rateLimitWaits = 5;
/** Milliseconds between two writes that the platform asks for. */
const writeSpacing = 1000;

export interface ApiClientOptions {
  /** Base address of the API, without a final slash. */
  readonly baseUrl: string;
  readonly token: string;
  /** The variable that holds the token, for messages. */
  readonly tokenName: string;
  /** The scope that it needs, for messages. */
  readonly scope: string;
  readonly userAgent: string;
  readonly timing: Timing;
  readonly signal: AbortSignal;
  /** Longest wait for a rate limit, in seconds; a longer one ends the run. */
  readonly maxWaitSeconds: number;
  /** Milliseconds after which a call without an answer is given up. */
  readonly timeoutMs: number;
  readonly record: (call: CallRecord) => void;
  /** A remark for a person who waits. */
  readonly note: (text: string) => void;
}

type Parameters = Readonly<Record<string, string | number>>;
type Attempt = { readonly retryCount?: number };

/**
 * The platform's API with one token. Reads are sent again after server errors, lost answers and rate limits; writes
 * never: whoever writes looks first what the lost one did.
 */
export class ApiClient {
  readonly #octokit;
  readonly #options: ApiClientOptions;
  #scopes: readonly string[] | undefined;

  constructor(options: ApiClientOptions) {
    this.#options = options;
    this.#octokit = openOctokit(options, (scopes) => {
      if (scopes.length > 0) this.#scopes = scopes;
    });
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
    const { data } = await this.#octokit.request(`GET ${path}`, parameters);
    return parseReply(schema, data, path);
  }

  /** Every entry of all pages. @throws RetirementError */
  async list<T>(path: string, parameters: Parameters, schema: z.ZodType<T[]>): Promise<T[]> {
    const entries: T[] = [];
    const pages = this.#octokit.paginate.iterator(`GET ${path}`, { ...parameters, per_page: perPage });
    try {
      for await (const { data } of pages) entries.push(...parseReply(schema, data, path));
    } catch (error) {
      // The paginating plugin takes a reply apart before anybody has looked at it.
      throw error instanceof TypeError ? unlikeDescription(path) : error;
    }
    return entries;
  }

  /** Send a write once. @throws RetirementError; a 404 is no access, for whoever writes has just seen what is there */
  async write(method: 'DELETE' | 'PATCH', path: string, parameters: Parameters): Promise<void> {
    try {
      await this.#octokit.request(`${method} ${path}`, { ...parameters, request: { retries: 0 } });
    } catch (error) {
      if (!isNotFound(error)) throw error;
      const text = `the platform answers 404 to ${method}: ${this.tokenName} may see it and not change it`;
      throw new RetirementError('access_denied', text, { status: 404, cause: error });
    }
  }
}

const PlatformOctokit = Octokit.plugin(pauseBeforeRetry, retry, throttling, paginateRest);

function openOctokit(options: ApiClientOptions, onScopes: (scopes: readonly string[]) => void) {
  const { timing, signal, note } = options;
  const limited = async (seconds: number, { method }: { method: string }, _octokit: unknown, count: number) => {
    if (method !== 'GET' || count >= rateLimitWaits || seconds > options.maxWaitSeconds) return false;
    note(waitingText(options, seconds));
    await timing.sleep(seconds * 1000, signal);
    return true;
  };
  const octokit = new PlatformOctokit({
    baseUrl: options.baseUrl,
    userAgent: options.userAgent,
    pause: options,
    request: { fetch: recordedFetch({ ...options, onScopes }) },
    // 429 is the throttling plugin's; every other status that is refused now is refused again.
    retry: { retries, retryAfterBaseValue: 0, doNotRetry: [400, 401, 403, 404, 409, 410, 422, 429, 451] },
    throttle: {
      id: crypto.randomUUID(),
      retryAfterBaseValue: 0,
      onRateLimit: limited,
      onSecondaryRateLimit: limited,
      write: spacedWrites(options),
    },
    log: { debug: () => {}, info: () => {}, warn: note, error: note },
  });
  // Added last, so around all others: the paginating plugin takes a 409 for the end of a list, and shall not see one.
  octokit.hook.wrap('request', async (send, request) => {
    // The plugins count in this object, which would else be the same one in every call.
    request.request = { ...request.request, retryCount: 0 };
    request.headers.accept = vendorMediaType;
    request.headers['x-github-api-version'] = apiVersion;
    const call = { ...options, method: request.method, path: pathOf(octokit, request) };
    try {
      const reply = await send(request);
      if (reply.status < 300) return reply;
      const to = reply.headers.location ?? 'elsewhere';
      throw new RetirementError('moved', `${call.method} ${call.path} leads to ${to}: say the new name`);
    } catch (error) {
      signal.throwIfAborted();
      throw withoutToken(failureOf(error, call), options.token);
    }
  });
  return octokit;
}

/** Added first, so within the retry plugin: waits on the given clock before what was sent is sent again. */
function pauseBeforeRetry(octokit: Octokit, options: OctokitOptions): void {
  const pause: ApiClientOptions = options['pause'];
  octokit.hook.before('request', async (request) => {
    pause.signal.throwIfAborted();
    const { retryCount = 0 } = request.request as Attempt;
    if (retryCount === 0) return;
    const seconds = retryCount ** 2;
    pause.note(`no good answer to ${request.method} ${pathOf(octokit, request)}; trying again in ${seconds} s`);
    await pause.timing.sleep(seconds * 1000, pause.signal);
  });
}

/** The throttling plugin's limiter of writes, on the given clock; it asks for no more than these two methods. */
function spacedWrites({ timing, signal }: ApiClientOptions): never {
  let last = Number.NEGATIVE_INFINITY;
  const schedule = async (_options: unknown, job: () => unknown) => {
    const early = last + writeSpacing - timing.now().getTime();
    if (early > 0) await timing.sleep(early, signal);
    last = timing.now().getTime();
    return await job();
  };
  return { key: () => ({ schedule }) } as never;
}

/** What is said while waiting for a rate limit. */
function waitingText({ tokenName, timing }: Pick<ApiClientOptions, 'tokenName' | 'timing'>, seconds: number) {
  const until = new Date(timing.now().getTime() + seconds * 1000).toISOString();
  return `the rate limit of ${tokenName} is reached: waiting ${seconds} s, until ${until}`;
}

function pathOf(octokit: Octokit, request: { readonly method: string; readonly url: string }): string {
  return new URL(octokit.request.endpoint(request as never).url).pathname;
}

function parseReply<T>(schema: z.ZodType<T>, data: unknown, path: string): T {
  const { success, data: parsed } = schema.safeParse(data);
  if (success) return parsed as T;
  throw unlikeDescription(path);
}

function unlikeDescription(path: string): RetirementError {
  return new RetirementError('server_error', `GET ${path} answered something else than its description says`);
}

/** The same failure, should the platform have repeated the token in its words. */
function withoutToken(error: unknown, token: string): unknown {
  if (!(error instanceof RetirementError) || !error.message.includes(token)) return error;
  const { code, status, retryAfterSeconds } = error;
  return new RetirementError(code, error.message.replaceAll(token, '***'), {
    ...(status === undefined ? {} : { status }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  });
}
