import type { Timing } from '../contract/timing.ts';
import { RetirementError } from './errors.ts';

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
  /** Milliseconds after which a call without an answer is given up. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly timing: Timing;
  readonly record: (call: CallRecord) => void;
  /** Called with the scopes of the token that a reply names; none for a token that has permissions instead. */
  readonly onScopes: (scopes: readonly string[]) => void;
}

/**
 * The one place that sends anything. It gives the token to the base URL's origin alone, follows no redirect, and takes a
 * reply only when it is whole: the client library reads a JSON body that breaks off as an empty one, and an empty page
 * would say that an image is gone.
 */
export function recordedFetch(options: RecordedFetchOptions): typeof fetch {
  const base = new URL(options.baseUrl);
  return async (input, init) => {
    const url = new URL(String(input));
    if (url.origin !== base.origin) {
      throw new RetirementError('refused', `a reply leads to ${url.origin}, which is not ${base.origin}`);
    }
    const headers = new Headers(init?.headers);
    headers.set('authorization', `Bearer ${options.token}`);
    const call = {
      at: options.timing.now().toISOString(),
      method: init?.method ?? 'GET',
      path: url.pathname + url.search,
      token: options.tokenName,
    };
    let seen: { status: number; requestId: string | null } | undefined;
    try {
      const reply = await fetch(url, {
        ...init,
        headers,
        redirect: 'manual',
        signal: AbortSignal.any([options.signal, AbortSignal.timeout(options.timeoutMs)]),
      });
      seen = { status: reply.status, requestId: reply.headers.get('x-github-request-id') };
      const whole = await wholeReply(reply);
      const scopes = reply.headers.get('x-oauth-scopes')?.split(',') ?? [];
      options.onScopes(scopes.flatMap((scope) => scope.trim() || []));
      options.record({ ...call, ...seen });
      return whole;
    } catch (error) {
      options.record({ ...call, status: null, requestId: null, ...seen, failure: describe(error) });
      throw error;
    }
  };
}

async function wholeReply(reply: Response): Promise<Response> {
  const { status, headers } = reply;
  const text = await reply.text();
  if (status === 200 && !isJson(headers.get('content-type'), text)) {
    throw new RetirementError('server_error', 'the reply is not JSON: is this the base URL of the API?', { status });
  }
  return new Response([204, 205, 304].includes(status) ? null : text, { status, headers });
}

function isJson(type: string | null, text: string): boolean {
  if (!/^application\/([\w.-]+\+)?json\b/i.test(type ?? '')) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The innermost reason, in one word where the system has one: `ECONNRESET`. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause instanceof Error) return describe(error.cause);
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message || error.name;
}
