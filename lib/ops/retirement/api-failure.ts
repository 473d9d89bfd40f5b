import { RetirementError, type RetirementErrorCode } from './errors.ts';
import { describe, type Reply } from './recorded-fetch.ts';

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

/** The failure of a call that got no whole reply. */
export function noAnswer(error: unknown, { method, path }: FailedCall): RetirementError {
  return new RetirementError('network_failure', `no answer to ${method} ${path}: ${describe(error)}`, { cause: error });
}

/** The failure that a reply with a status of 300 and more is. Statuses are told apart by what an operator does next. */
export function failureOf({ status, headers, data }: Reply, call: FailedCall): RetirementError {
  const where = `${call.method} ${call.path}`;
  const said = messageOf(data);
  const failure = (code: RetirementErrorCode, text: string, retryAfterSeconds?: number) =>
    // The platform may have repeated the token in its words.
    new RetirementError(code, text.replaceAll(call.token, '***'), {
      status,
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    });

  if (status < 400) {
    return failure('moved', `${where} leads to ${headers.get('location') ?? 'elsewhere'}: say the new name`);
  }
  if (status === 401) return failure('token_refused', `the platform refuses ${call.tokenName}: ${said}`);
  const limited = rateLimit(status, said, headers);
  if (limited !== undefined) {
    return failure(
      'rate_limited',
      `the rate limit of ${call.tokenName} is reached; try again in ${limited} s`,
      limited,
    );
  }
  if (/more than \S+ downloads/i.test(said)) {
    return failure('too_many_downloads', `the platform keeps what was downloaded too often: ${said}`);
  }
  if (/last (tagged )?version of a package/i.test(said)) {
    return failure('last_version', `it is the last version of the package: ${said}`);
  }
  if (status === 403) return failure(...forbidden(call, said, headers));
  if (status >= 500) return failure('server_error', `${where} answered ${status}: ${said}`);
  return failure('refused', `${where} answered ${status}: ${said}`);
}

function forbidden(call: FailedCall, said: string, headers: Headers): [RetirementErrorCode, string] {
  const singleSignOn = /url=(\S+)/.exec(headers.get('x-github-sso') ?? '')?.[1];
  if (singleSignOn) {
    return ['access_denied', `${call.tokenName} must be authorized for single sign-on first: ${singleSignOn}`];
  }
  const held = headers.get('x-oauth-scopes');
  if (!held || held.split(',').some((scope) => scope.trim() === call.scope)) {
    const text = `${call.tokenName} may not ${call.method} ${call.path}: ${said}`;
    return [/scope/i.test(said) ? 'scope_missing' : 'access_denied', text];
  }
  return ['scope_missing', missingScope(call, held)];
}

/** What is said of a token that lacks its scope; `held` as the platform lists it. */
export function missingScope({ tokenName, scope }: Pick<FailedCall, 'tokenName' | 'scope'>, held: string): string {
  return `${tokenName} lacks the scope ${scope} (it has: ${held})`;
}

/** Seconds to wait when this is a rate limit, by the platform's rules for its three forms; else `undefined`. */
function rateLimit(status: number, said: string, headers: Headers): number | undefined {
  if (status !== 403 && status !== 429) return undefined;
  const retryAfter = Number(headers.get('retry-after'));
  if (retryAfter > 0) return retryAfter;
  if (headers.get('x-ratelimit-remaining') === '0') {
    // Against the server's clock: that of this machine may be wrong.
    const now = Date.parse(headers.get('date') ?? '') || Date.now();
    return Math.max(Math.ceil(Number(headers.get('x-ratelimit-reset')) - now / 1000) + 1, 1) || 60;
  }
  return status === 429 || /\bsecondary rate\b/i.test(said) ? 60 : undefined;
}

/** The platform's own words; its errors are `{"message": …}`. */
function messageOf(data: unknown): string {
  if (typeof data === 'object' && data !== null && 'message' in data && typeof data.message === 'string') {
    return data.message;
  }
  return 'it gives no reason';
}
