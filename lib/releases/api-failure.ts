import { RetirementError, type RetirementErrorCode } from './errors.ts';

/** What a failed call was about, to say it to a person. */
export interface FailedCall {
  readonly method: string;
  readonly path: string;
  /** The variable that held the token. */
  readonly tokenName: string;
  /** The scope that the calls of this token need. */
  readonly scope: string;
}

/** An error of the client library as far as it is needed here. */
interface LibraryError extends Error {
  readonly status: number;
  readonly response?: {
    readonly headers: Readonly<Record<string, string | number | undefined>>;
    readonly data: unknown;
  };
}

/** The failure that an error of the client library is. Statuses are told apart by what an operator does next. */
export function failureOf(error: unknown, call: FailedCall): unknown {
  if (error instanceof RetirementError || !(error instanceof Error) || !('status' in error)) return error;
  if (error.cause instanceof RetirementError) return error.cause;
  const { status, response, message } = error as LibraryError;
  const where = `${call.method} ${call.path}`;
  if (response === undefined) {
    return new RetirementError('network_failure', `no answer to ${where}: ${message}`, { cause: error });
  }
  const said = messageOf(response.data);
  const header = (name: string) => (response.headers[name] === undefined ? undefined : String(response.headers[name]));
  const failure = (code: RetirementErrorCode, text: string, retryAfterSeconds?: number) =>
    new RetirementError(code, text, {
      status,
      cause: error,
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    });

  if (status === 401) return failure('token_refused', `the platform refuses ${call.tokenName}: ${said}`);
  const limited = rateLimit(status, said, header);
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
  if (status === 403) return forbidden(call, said, header, failure);
  if (status >= 500) return failure('server_error', `${where} answered ${status}: ${said}`);
  return failure('refused', `${where} answered ${status}: ${said}`);
}

function forbidden(
  call: FailedCall,
  said: string,
  header: (name: string) => string | undefined,
  failure: (code: RetirementErrorCode, text: string) => RetirementError,
): RetirementError {
  const singleSignOn = /url=(\S+)/.exec(header('x-github-sso') ?? '')?.[1];
  if (singleSignOn) {
    return failure('access_denied', `${call.tokenName} must be authorized for single sign-on first: ${singleSignOn}`);
  }
  const held = header('x-oauth-scopes');
  if (!held || held.split(',').some((scope) => scope.trim() === call.scope)) {
    const text = `${call.tokenName} may not ${call.method} ${call.path}: ${said}`;
    return failure(/scope/i.test(said) ? 'scope_missing' : 'access_denied', text);
  }
  return failure('scope_missing', missingScope(call, held));
}

/** What is said of a token that lacks its scope; `held` as the platform lists it. */
export function missingScope({ tokenName, scope }: Pick<FailedCall, 'tokenName' | 'scope'>, held: string): string {
  return `${tokenName} lacks the scope ${scope} (it has: ${held})`;
}

/** Seconds to wait when this is a rate limit, by the platform's rules for its three forms; else `undefined`. */
function rateLimit(status: number, said: string, header: (name: string) => string | undefined): number | undefined {
  if (status !== 403 && status !== 429) return undefined;
  const retryAfter = Number(header('retry-after'));
  if (retryAfter > 0) return retryAfter;
  if (header('x-ratelimit-remaining') === '0') {
    // Against the server's clock: that of this machine may be wrong.
    const now = Date.parse(header('date') ?? '') || Date.now();
    return Math.max(Math.ceil(Number(header('x-ratelimit-reset')) - now / 1000) + 1, 1) || 60;
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
