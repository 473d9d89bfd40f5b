import { RetirementError, type RetirementErrorCode } from './errors.ts';

/** A reply that arrived whole. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  /** The body, read as JSON; `undefined` for a body that is none. */
  readonly data: unknown;
}

/** What a failed call was about, to say it to a person. */
export interface FailedCall {
  readonly method: string;
  readonly path: string;
  readonly token: string;
  /** The variable that held the token. */
  readonly tokenName: string;
  /** The scope that the calls of this token need. */
  readonly scope: string;
}

/** The failure that a reply with a status of 300 and more is. Statuses are told apart by what an operator does next. */
export function failureOf(reply: Reply, call: FailedCall): RetirementError {
  const { status } = reply;
  const retryAfterSeconds = rateLimit(reply);
  const [code, text] =
    retryAfterSeconds === undefined
      ? explained(reply, call)
      : [
          'rate_limited' as const,
          `the rate limit of ${call.tokenName} is reached; try again in ${retryAfterSeconds} s`,
        ];
  // The platform may have repeated the token in its words.
  return new RetirementError(code, text.replaceAll(call.token, '***'), { status, retryAfterSeconds });
}

function explained(reply: Reply, call: FailedCall): readonly [RetirementErrorCode, string] {
  const { status, headers } = reply;
  const { tokenName } = call;
  const where = `${call.method} ${call.path}`;
  const said = wordsOf(reply);
  if (status < 400) return ['moved', `${where} leads to ${headers.get('location') ?? 'elsewhere'}: say the new name`];
  if (status === 401) return ['token_refused', `the platform refuses ${tokenName}: ${said}`];
  if (/more than \S+ downloads/i.test(said)) {
    return ['too_many_downloads', `the platform keeps what was downloaded too often: ${said}`];
  }
  if (/last (tagged )?version of a package/i.test(said)) {
    return ['last_version', `it is the last version of the package: ${said}`];
  }
  if (status !== 403) return [status >= 500 ? 'server_error' : 'refused', `${where} answered ${status}: ${said}`];
  const singleSignOn = /url=(\S+)/.exec(headers.get('x-github-sso') ?? '')?.[1];
  if (singleSignOn)
    return ['access_denied', `${tokenName} must be authorized for single sign-on first: ${singleSignOn}`];
  const held = headers.get('x-oauth-scopes');
  if (held && !held.split(',').some((scope) => scope.trim() === call.scope)) {
    return ['scope_missing', missingScope(call, held)];
  }
  return [/scope/i.test(said) ? 'scope_missing' : 'access_denied', `${tokenName} may not ${where}: ${said}`];
}

/** What is said of a token that lacks its scope; `held` as the platform lists it. */
export function missingScope({ tokenName, scope }: Pick<FailedCall, 'tokenName' | 'scope'>, held: string): string {
  return `${tokenName} lacks the scope ${scope} (it has: ${held})`;
}

/** Seconds to wait when this is a rate limit, by the platform's rules for its three forms; else `undefined`. */
function rateLimit(reply: Reply): number | undefined {
  const { status, headers } = reply;
  if (status !== 403 && status !== 429) return undefined;
  const retryAfter = Number(headers.get('retry-after'));
  if (retryAfter > 0) return retryAfter;
  if (headers.get('x-ratelimit-remaining') === '0') {
    // Against the server's clock: that of this machine may be wrong.
    const now = Date.parse(headers.get('date') ?? '') || Date.now();
    return Math.max(Math.ceil(Number(headers.get('x-ratelimit-reset')) - now / 1000) + 1, 1) || 60;
  }
  return status === 429 || /\bsecondary rate\b/i.test(wordsOf(reply)) ? 60 : undefined;
}

/** The platform's own words; its errors are `{"message": …}`. */
function wordsOf({ data }: Reply): string {
  const { message }: { readonly message?: unknown } = Object(data);
  return typeof message === 'string' ? message : 'it gives no reason';
}
