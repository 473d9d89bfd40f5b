import type * as z from 'zod';
import type { Timing } from '../../common/timing.ts';
import { parseJson } from '../../common/untrusted-json.ts';
import { hasCode, OpsError, type OpsErrorCode } from '../errors.ts';

/** Version of the platform's API that the replies are read by; sent with every call. */
const apiVersion = '2022-11-28';
/** What the platform calls its JSON. */
const vendorMediaType = 'application/vnd.github+json';
/** Seconds before a read is sent again after a server error or a lost answer. */
const pauses = [1, 4, 9] as const;

export interface ApiClientOptions {
  /** Base address of the API, without a final slash. */
  readonly baseUrl: string;
  readonly token: string;
  /** The variable that holds the token, for messages. */
  readonly tokenName: string;
  /** The scope that the token's calls need. */
  readonly scope: string;
  /** Milliseconds after which a call without an answer is given up. */
  readonly timeoutMs: number;
  readonly timing: Timing;
  readonly signal: AbortSignal;
  /** A remark for a person who waits. */
  readonly note: (text: string) => void;
  readonly record: (call: CallRecord) => void;
}

/** One call, as it is kept for evidence. `at`: RFC 3339. `path`: with the query. `token`: the variable that held it. */
export interface CallRecord extends Readonly<Record<'at' | 'method' | 'path' | 'token', string>> {
  /** `null` when no reply came. */
  readonly status: number | null;
  /** The platform's id of the request, for its support; `null` when it gave none. */
  readonly requestId: string | null;
  /** What happened instead of a whole reply; absent when one came. */
  readonly failure?: string;
}

type Missing = readonly ['package_not_found' | 'repository_not_found', string];

/** A reply that arrived whole. `data`: the body as JSON; `undefined` for a body that is none. */
interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly data: unknown;
}

/**
 * The platform's API with one token. Reads are sent again after server errors and lost answers. Writes never are: the caller first
 * checks whether a lost one had an effect.
 */
export class ApiClient {
  readonly options: ApiClientOptions;
  /** The token's scopes, once a reply has named them; `undefined` for tokens that have none, but permissions. */
  scopes: readonly string[] | undefined;

  constructor(options: ApiClientOptions) {
    this.options = options;
  }

  /** The value, or `undefined` for what the platform does not find. @throws OpsError */
  async find<T>(path: string, schema: z.ZodType<T>): Promise<T | undefined> {
    const reply = await this.#read(this.options.baseUrl + path);
    return reply.status === 404 ? undefined : parsed(schema, reply, path);
  }

  /**
   * Every entry of all pages.
   * @param missing what a 404 means, which also hides what the token may not see
   * @throws OpsError
   */
  async list<T>(path: string, schema: z.ZodType<T[]>, [code, missing]: Missing): Promise<T[]> {
    const entries: T[] = [];
    let page: string | undefined = `${this.options.baseUrl}${path}?per_page=100`;
    while (page !== undefined) {
      const reply: Reply = await this.#read(page);
      if (reply.status === 404) {
        throw new OpsError(code, `${missing}, or ${this.options.tokenName} may not see it`);
      }
      entries.push(...parsed(schema, reply, path));
      const next = /<([^<>]+)>;\s*rel="next"/.exec(reply.headers.get('link') ?? '')?.[1];
      page = next && new URL(next, page).href;
    }
    return entries;
  }

  /** Send a write once, with `body` as JSON. @throws OpsError */
  async write(method: 'DELETE' | 'PATCH', path: string, body?: object): Promise<void> {
    const { status } = await this.#send(method, this.options.baseUrl + path, body);
    if (status !== 404) return;
    // The caller has just seen what it writes to.
    const text = `the platform answers 404 to ${method}: ${this.options.tokenName} may see it and not change it`;
    throw new OpsError('access_denied', text);
  }

  async #read(url: string): Promise<Reply> {
    const { timing, signal, note } = this.options;
    for (const pause of pauses) {
      try {
        return await this.#send('GET', url);
      } catch (error) {
        if (!hasCode(error, 'server_error', 'network_failure')) throw error;
        note(`${error.message}; trying again in ${pause} s`);
        await timing.sleep(pause * 1000, signal);
      }
    }
    return await this.#send('GET', url);
  }

  /**
   * The one place that sends anything. It gives the token to the base URL's origin alone, follows no redirect, and takes a reply only
   * when it is whole: an empty page instead of a broken one would say that an image is gone.
   * @throws OpsError for a status of 300 and more except 404, and for no answer; what the signal was aborted with
   */
  async #send(method: string, address: string, body?: object): Promise<Reply> {
    const { baseUrl, token, tokenName, timeoutMs, signal, timing, record } = this.options;
    signal.throwIfAborted();
    const url = new URL(address);
    const { origin } = new URL(baseUrl);
    if (url.origin !== origin) {
      throw new OpsError('refused', `a reply leads to ${url.origin}, which is not ${origin}`);
    }
    const call = { at: timing.now().toISOString(), method, path: url.pathname + url.search, token: tokenName };
    let seen: Pick<CallRecord, 'status' | 'requestId'> = { status: null, requestId: null };
    let reply: Reply;
    try {
      const response = await fetch(url, {
        method,
        headers: {
          accept: vendorMediaType,
          authorization: `Bearer ${token}`,
          'user-agent': 'data-out-ops',
          'x-github-api-version': apiVersion,
          ...(body && { 'content-type': 'application/json' }),
        },
        body: body ? JSON.stringify(body) : null,
        redirect: 'manual',
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      });
      const { status, headers } = response;
      seen = { status, requestId: headers.get('x-github-request-id') };
      reply = { status, headers, data: parseJson(await response.text()) };
    } catch (error) {
      const failure = reasonOf(error);
      record({ ...call, ...seen, failure });
      signal.throwIfAborted();
      const text = `no answer to ${method} ${url.pathname}: ${failure}`;
      throw new OpsError('network_failure', text, { cause: error });
    }
    record({ ...call, ...seen });
    this.scopes = reply.headers.get('x-oauth-scopes')?.match(/[^\s,]+/g) ?? this.scopes;
    if (reply.status < 300 || reply.status === 404) return reply;
    const [code, text] = explained(reply, `${method} ${url.pathname}`, this);
    // The platform may have repeated the token in its words.
    throw new OpsError(code, text.replaceAll(token, '***'));
  }
}

function parsed<T>(schema: z.ZodType<T>, { data }: Reply, path: string): T {
  const found = schema.safeParse(data, { reportInput: true });
  if (found.success) return found.data;
  const faults = found.error.issues.map(({ path: field, input }) => {
    const name = field.filter((part) => typeof part !== 'number').join('.') || 'the whole body';
    return `${name} is ${input === undefined && data !== undefined ? 'missing' : 'of another form'}`;
  });
  const text = `GET ${path} answered otherwise than the platform documents: ${[...new Set(faults)].join(', ')}`;
  throw new OpsError('unexpected_answer', `${text}; check --api-url`);
}

/** The innermost reason, in one word where the system has one: `ECONNRESET`. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause instanceof Error) return reasonOf(error.cause);
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message || error.name;
}

/** What a refusal means. Statuses are told apart by what an operator does next. */
function explained(
  { status, headers, data }: Reply,
  where: string,
  { options, scopes }: Pick<ApiClient, 'options' | 'scopes'>,
): readonly [OpsErrorCode, string] {
  const { tokenName, scope } = options;
  // The platform's errors are `{"message": …}`.
  const { message }: { readonly message?: unknown } = Object(data);
  const said = typeof message === 'string' ? message : 'it gives no reason';
  if (status < 400) return ['moved', `${where} leads to ${headers.get('location') ?? 'elsewhere'}: say the new name`];
  if (status === 401) return ['token_refused', `the platform refuses ${tokenName}: ${said}`];
  const isSpent = headers.has('retry-after') || headers.get('x-ratelimit-remaining') === '0';
  if (status === 429 || (status === 403 && (isSpent || /\bsecondary rate\b/i.test(said)))) {
    const reset = Number(headers.get('x-ratelimit-reset')) * 1000;
    const until = reset > 0 ? ` at ${new Date(reset).toISOString()}` : ` in ${headers.get('retry-after') ?? 60} s`;
    return ['rate_limited', `the rate limit of ${tokenName} is reached; try again${until}`];
  }
  if (/more than \S+ downloads/i.test(said)) return ['too_many_downloads', `the platform keeps it: ${said}`];
  if (/last (tagged )?version of a package/i.test(said)) return ['last_version', `the platform keeps it: ${said}`];
  if (status >= 500) return ['server_error', `${where} answered ${status}: ${said}`];
  if (status === 422) return ['tag_protected', `${where}: a rule, a protection or an immutable release: ${said}`];
  if (status !== 403) return ['refused', `${where} answered ${status}: ${said}`];
  const singleSignOn = /url=(\S+)/.exec(headers.get('x-github-sso') ?? '')?.[1];
  if (singleSignOn)
    return ['access_denied', `${tokenName} must be authorized for single sign-on first: ${singleSignOn}`];
  if (scopes && !scopes.includes(scope)) return ['scope_missing', missingScope(options, scopes)];
  return [/scope/i.test(said) ? 'scope_missing' : 'access_denied', `${tokenName} may not ${where}: ${said}`];
}

/** What is said of a token that lacks its scope. @param held its scopes, as the platform lists them */
export function missingScope({ tokenName, scope }: ApiClientOptions, held: readonly string[]): string {
  return `${tokenName} lacks the scope ${scope} (it has: ${held.join(', ')})`;
}
