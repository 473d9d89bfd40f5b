/**
 * What the caller of this service can do next, as one stable code each. `lib/service/http/problem.ts` gives each code its
 * status, and `lib/ops/errors.ts` its exit code; queue consumers drop the message or let it come back.
 */
export type ErrorCode =
  | 'invalid_request' // The caller must correct the input.
  | 'invalid_range' // The caller asked for a region that ends before it starts.
  | 'unsupported_format' // The file cannot be cut so: the caller must ask for another format, or for the whole file.
  | 'request_too_large' // One reply cannot describe what is asked for: the caller must ask for less at once.
  | 'unauthenticated' // The caller must present (other) credentials.
  | 'forbidden' // The credentials are valid, but do not allow this.
  | 'foreign_origin' // A browser sent this for another origin's page: use the service's own page, or a program.
  | 'not_found' // This caller has nothing of that name. Whether another caller would find it stays open.
  | 'precondition_failed' // The file is not the one that `If-Match` names: the caller must start again.
  | 'range_not_satisfiable' // No byte of the range that was asked for exists.
  | 'reply_too_large' // More bytes than one reply can carry: the caller must ask for ranges.
  | 'request_rejected' // An export that must not be carried out, now or later: its message is dropped.
  | 'temporarily_unavailable' // A dependency is throttling, resuming or down: the same call may succeed later.
  | 'archive_damaged' // The archive contradicts itself: an operator must look.
  | 'archive_location_unknown'; // The settings lack a bucket that the catalogue names: an operator corrects either.

/** One broken rule of a request. `field` is a JSON pointer-like path, a parameter or a header name. */
export interface Violation {
  readonly field: string;
  readonly message: string;
}

/** Every error that this service raises on purpose. `message` never holds a token, a key or a visa. */
export class DataOutError extends Error {
  override readonly name = 'DataOutError';
  readonly code: ErrorCode;
  /** Every broken rule, of `invalid_request`. */
  declare readonly violations?: readonly Violation[];
  /** Bytes of the whole, of `range_not_satisfiable`. */
  declare readonly size?: number;
  /** Most bytes that one reply can carry, of `reply_too_large`. */
  declare readonly maxRangeBytes?: number;
  /** Why an export is rejected: for log, metric, audit row and the administrator who asks for its state. */
  declare readonly reason?: string;
  /** Seconds after which a retry makes sense, of `temporarily_unavailable`. */
  declare readonly retryAfterSeconds?: number;
  /** Whether the dependency wants fewer calls at once, of `temporarily_unavailable`. */
  declare readonly wantsFewerCalls?: boolean;
  constructor(code: ErrorCode, message: string, { cause, ...facts }: ErrorFacts = {}) {
    super(message, { cause });
    this.code = code;
    Object.assign(this, facts);
  }
}

type ErrorFacts = Omit<DataOutError, 'code' | 'name' | 'message' | 'stack'>;

/** Whether `error` has one of the codes; without codes, whether it is a {@link DataOutError} at all. */
export function isError(error: unknown, ...codes: readonly ErrorCode[]): error is DataOutError {
  return error instanceof DataOutError && (codes.length === 0 || codes.includes(error.code));
}

/** Whether an operator must repair the archive. */
export function isDamage(error: unknown): error is DataOutError {
  return isError(error, 'archive_damaged', 'archive_location_unknown');
}

/** Most violations that one reply lists, because a body can break a rule in every few bytes. */
const mostViolations = 20;

/** Lists the first 20 violations; one more entry says how many it does not list. */
export function invalidRequest(violations: readonly Violation[]): DataOutError {
  const more = violations.length - mostViolations;
  const told = violations.slice(0, mostViolations);
  if (more > 0) told.push({ field: 'request', message: `${more} more broken rules are not listed` });
  const message = told.map((violation) => `${violation.field}: ${violation.message}`).join('; ');
  return new DataOutError('invalid_request', message, { violations: told });
}

/** @param size bytes of the whole */
export function rangeNotSatisfiable(size: number): DataOutError {
  const message = `The range begins after the end: there are ${size} bytes.`;
  return new DataOutError('range_not_satisfiable', message, { size });
}

export function replyTooLarge(size: number, maxRangeBytes: number): DataOutError {
  const message = `The reply would have ${size} bytes. Ask for ranges of ${maxRangeBytes} bytes or less.`;
  return new DataOutError('reply_too_large', message, { maxRangeBytes });
}

export function unavailable(
  message: string,
  { retryAfterSeconds = 15, cause, wantsFewerCalls = false }: ErrorFacts = {},
): DataOutError {
  return new DataOutError('temporarily_unavailable', message, { retryAfterSeconds, cause, wantsFewerCalls });
}

export function damaged(message: string, options: Pick<ErrorFacts, 'cause'> = {}): DataOutError {
  return new DataOutError('archive_damaged', message, options);
}
