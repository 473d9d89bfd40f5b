/**
 * Why a retirement stopped, as one code for each thing an operator does next. `data-out-ops` gives every code an exit
 * code of its own (`lib/terminal/exit-codes.ts`).
 */
export type RetirementErrorCode =
  // The request contradicts itself.
  | 'replacement_equal'
  | 'tag_mismatch'
  // Something named is not there, or not for this token.
  | 'organization_not_found'
  | 'package_not_found'
  | 'repository_not_found'
  | 'version_not_found'
  | 'release_not_found'
  | 'replacement_missing'
  // The platform does not let this token do it.
  | 'token_refused'
  | 'scope_missing'
  | 'access_denied'
  // The same call may succeed later.
  | 'rate_limited'
  | 'server_error'
  | 'network_failure'
  // Something stands in the way, and a person must decide.
  | 'ambiguous_version'
  | 'other_tags'
  | 'too_many_downloads'
  | 'last_version'
  | 'ambiguous_release'
  | 'replacement_broken'
  | 'tag_protected'
  | 'changed_meanwhile'
  | 'moved'
  | 'refused'
  // Begun or asked for, and not finished.
  | 'not_marked'
  | 'not_confirmed'
  | 'not_proven';

/** A retirement that stopped. `message` says what to do about it and holds no token. */
export class RetirementError extends Error {
  readonly code: RetirementErrorCode;
  /** Status of the reply that stopped it; `undefined` when no reply did. */
  readonly status: number | undefined;
  /** Seconds after which the same call makes sense; for `rate_limited` alone. */
  readonly retryAfterSeconds: number | undefined;
  constructor(
    code: RetirementErrorCode,
    message: string,
    options: { readonly status?: number; readonly retryAfterSeconds?: number; readonly cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.code = code;
    this.status = options.status;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
  override get name(): string {
    return 'RetirementError';
  }
}

const transient: ReadonlySet<string> = new Set<RetirementErrorCode>([
  'rate_limited',
  'server_error',
  'network_failure',
]);

/** Whether the same call may succeed later, or has succeeded although its answer was lost. */
export function isTransient(error: unknown): error is RetirementError {
  return error instanceof RetirementError && transient.has(error.code);
}

/** Whether the platform answered 404: the name does not exist, or this token may not see it. */
export function isNotFound(error: unknown): error is RetirementError {
  return error instanceof RetirementError && error.status === 404;
}
