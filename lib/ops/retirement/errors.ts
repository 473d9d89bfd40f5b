import { exitCodes } from '../../terminal/exit-codes.ts';

/**
 * Why a retirement stopped, by the class of exit codes, which says what an operator does next. `--json` has the name.
 * `docs/retire-release.md` has the same table.
 */
export const retirementCodes = {
  usage: ['replacement_equal', 'tag_mismatch', 'not_confirmed'],
  denied: ['token_refused', 'scope_missing', 'access_denied'],
  notFound: [
    'package_not_found',
    'repository_not_found',
    'version_not_found',
    'release_not_found',
    'replacement_missing',
  ],
  partial: ['not_marked', 'not_proven'],
  unavailable: ['rate_limited', 'server_error', 'network_failure'],
  conflict: [
    ...(['refused', 'ambiguous_version', 'ambiguous_release', 'other_tags', 'too_many_downloads'] as const),
    ...(['last_version', 'replacement_broken', 'tag_protected', 'changed_meanwhile', 'moved'] as const),
    'unexpected_answer',
  ],
} as const;

type Class = keyof typeof retirementCodes;
export type RetirementErrorCode = (typeof retirementCodes)[Class][number];

/** A retirement that stopped. `message` says what to do about it and holds no token. */
export class RetirementError extends Error {
  override readonly name = 'RetirementError';
  readonly code: RetirementErrorCode;
  constructor(code: RetirementErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  get exitCode(): number {
    const entries = Object.entries(retirementCodes) as [Class, readonly RetirementErrorCode[]][];
    const found = entries.find(([, codes]) => codes.includes(this.code));
    return found ? exitCodes[found[0]] : exitCodes.unexpected;
  }
}

/** Whether an error has one of these codes. */
export function hasCode(error: unknown, ...codes: readonly RetirementErrorCode[]): error is RetirementError {
  return error instanceof RetirementError && codes.includes(error.code);
}
