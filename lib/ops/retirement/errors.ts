/**
 * Why a retirement stopped, as one code for each thing an operator does next, and the exit code of `data-out-ops retire-release` for
 * each. The first digit is the code of `exitCodes`, the second the reason. `docs/retire-release.md` has the same table.
 */
export const retirementExitCodes = {
  // The request contradicts itself.
  replacement_equal: 21,
  tag_mismatch: 22,
  not_confirmed: 23,
  // The platform does not let this token do it.
  token_refused: 37,
  scope_missing: 38,
  access_denied: 39,
  // Something named is missing, or not for this token.
  organization_not_found: 44,
  package_not_found: 45,
  repository_not_found: 46,
  version_not_found: 47,
  release_not_found: 48,
  replacement_missing: 49,
  // Begun, and not finished.
  not_marked: 54,
  not_proven: 55,
  // The same call may succeed later.
  rate_limited: 74,
  server_error: 75,
  network_failure: 76,
  // Something stands in the way, and a person must decide.
  refused: 90,
  ambiguous_version: 91,
  other_tags: 92,
  too_many_downloads: 93,
  last_version: 94,
  ambiguous_release: 95,
  replacement_broken: 96,
  tag_protected: 97,
  changed_meanwhile: 98,
  moved: 99,
} as const;

export type RetirementErrorCode = keyof typeof retirementExitCodes;

/** A retirement that stopped. `message` says what to do about it and holds no token. */
export class RetirementError extends Error {
  override readonly name = 'RetirementError';
  readonly code: RetirementErrorCode;
  /** Status of the reply that stopped it; `undefined` when no reply did. */
  readonly status: number | undefined;
  /** Seconds after which the same call makes sense; for `rate_limited` alone. */
  readonly retryAfterSeconds: number | undefined;
  constructor(
    code: RetirementErrorCode,
    message: string,
    options: {
      readonly status?: number;
      readonly retryAfterSeconds?: number | undefined;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, options);
    this.code = code;
    this.status = options.status;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

/** Whether an error of the platform has one of these codes. */
export function hasCode(error: unknown, ...codes: readonly RetirementErrorCode[]): error is RetirementError {
  return error instanceof RetirementError && codes.includes(error.code);
}

/** Whether the same call may succeed later, or has succeeded although its answer was lost. */
export function isTransient(error: unknown): error is RetirementError {
  return hasCode(error, 'rate_limited', 'server_error', 'network_failure');
}

/** Whether the platform answered 404: the name does not exist, or this token may not see it. */
export function isNotFound(error: unknown): error is RetirementError {
  return error instanceof RetirementError && error.status === 404;
}
