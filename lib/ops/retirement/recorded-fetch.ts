import type { Timing } from '../../common/timing.ts';
import { RetirementError } from './errors.ts';

/** Version of the platform's API that the replies are read by; sent with every call. */
const apiVersion = '2022-11-28';

/** What the platform calls its JSON. */
const vendorMediaType = 'application/vnd.github+json';

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
  /** What happened in place of a whole reply; absent when one came. */
  readonly failure?: string;
}

export interface RecordedFetchOptions {
  readonly baseUrl: string;
  readonly token: string;
  readonly tokenName: string;
  readonly userAgent: string;
  /** Milliseconds after which a call without an answer is given up. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly timing: Timing;
  readonly record: (call: CallRecord) => void;
}

/** A reply that arrived whole. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  /** The body, read as JSON; `undefined` for a body that is none. */
  readonly data: unknown;
}

export type RecordedFetch = (method: string, url: URL, body?: object) => Promise<Reply>;

/**
 * The one place that sends anything. It gives the token to the base URL's origin alone, follows no redirect, and takes a
 * reply only when it is whole: an empty page in place of a broken one would say that an image is gone.
 */
export function recordedFetch(options: RecordedFetchOptions): RecordedFetch {
  const base = new URL(options.baseUrl);
  const headers = {
    accept: vendorMediaType,
    authorization: `Bearer ${options.token}`,
    'user-agent': options.userAgent,
    'x-github-api-version': apiVersion,
  };
  return async (method, url, body) => {
    if (url.origin !== base.origin) {
      throw new RetirementError('refused', `a reply leads to ${url.origin}, which is not ${base.origin}`);
    }
    const call = {
      at: options.timing.now().toISOString(),
      method,
      path: url.pathname + url.search,
      token: options.tokenName,
    };
    let seen: { status: number; requestId: string | null } | undefined;
    try {
      const reply = await fetch(url, {
        method,
        headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
        body: body === undefined ? null : JSON.stringify(body),
        redirect: 'manual',
        signal: AbortSignal.any([options.signal, AbortSignal.timeout(options.timeoutMs)]),
      });
      seen = { status: reply.status, requestId: reply.headers.get('x-github-request-id') };
      const whole = { status: reply.status, headers: reply.headers, data: await readJson(reply) };
      options.record({ ...call, ...seen });
      return whole;
    } catch (error) {
      options.record({ ...call, status: null, requestId: null, ...seen, failure: describe(error) });
      throw error;
    }
  };
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
export function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause instanceof Error) return describe(error.cause);
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message || error.name;
}
