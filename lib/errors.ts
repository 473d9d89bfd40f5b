/**
 * What a caller of this service can do next, as one class and one stable `code` each. The HTTP edge maps `code` to a
 * status once (`lib/service/http/problem.ts`); queue consumers map it to reject (message gone) or retry.
 *
 * Format and visa errors have their own classes in `lib/crypt4gh/errors.ts` and `lib/visas/errors.ts`.
 */
export type ErrorCode =
  | 'invalid_request'
  | 'invalid_range'
  | 'unsupported_format'
  | 'request_too_large'
  | 'unauthenticated'
  | 'forbidden'
  | 'foreign_origin'
  | 'not_found'
  | 'precondition_failed'
  | 'range_not_satisfiable'
  | 'reply_too_large'
  | 'request_rejected'
  | 'temporarily_unavailable'
  | 'archive_damaged'
  | 'archive_location_unknown';

/** Base of every error this service raises on purpose. `message` never holds a token, a key or a visa. */
export abstract class DataOutError extends Error {
  abstract readonly code: ErrorCode;
  override get name(): string {
    return this.constructor.name;
  }
}

/** One broken rule of a request. `field` is a JSON pointer-like path, a parameter or a header name. */
export interface Violation {
  readonly field: string;
  readonly message: string;
}

/**
 * Most violations that one reply lists. A request can break a rule in every few bytes of its body, and the reply would
 * grow with it.
 */
const mostViolations = 20;

/**
 * The caller must correct the input. Each violation names its field. The first 20 are listed; one more entry says how
 * many are not.
 */
export class InvalidRequestError extends DataOutError {
  readonly code = 'invalid_request';
  readonly violations: readonly Violation[];
  constructor(violations: readonly Violation[]) {
    const more = violations.length - mostViolations;
    const told = violations.slice(0, mostViolations);
    if (more > 0) told.push({ field: 'request', message: `${more} more broken rules are not listed` });
    super(told.map((violation) => `${violation.field}: ${violation.message}`).join('; '));
    this.violations = told;
  }
}

/** The caller asked for a region that ends before it starts. */
export class InvalidRangeError extends DataOutError {
  readonly code = 'invalid_range';
}

/** The file cannot be cut as the caller asked: the caller must ask for another format, or for the whole file. */
export class UnsupportedFormatError extends DataOutError {
  readonly code = 'unsupported_format';
}

/** The request, or what it asks for, is larger than one reply can describe: the caller must ask for less at once. */
export class RequestTooLargeError extends DataOutError {
  readonly code = 'request_too_large';
}

/** The caller must present (other) credentials. */
export class UnauthenticatedError extends DataOutError {
  readonly code = 'unauthenticated';
}

/** The credentials are valid, but do not allow this. */
export class ForbiddenError extends DataOutError {
  readonly code = 'forbidden';
}

/** A browser sent this for a page of another origin: the caller must use the service's own page, or a program. */
export class ForeignOriginError extends DataOutError {
  readonly code = 'foreign_origin';
}

/** This caller has nothing of that name. The error does not say whether another caller would find it. */
export class NotFoundError extends DataOutError {
  readonly code = 'not_found';
}

/** The file is not the one that `If-Match` names: the caller must start again. */
export class PreconditionFailedError extends DataOutError {
  readonly code = 'precondition_failed';
}

/** No byte of the range that was asked for exists. */
export class RangeNotSatisfiableError extends DataOutError {
  readonly code = 'range_not_satisfiable';
  /** Bytes of the whole. */
  readonly size: number;
  constructor(size: number) {
    super(`The range begins after the end: there are ${size} bytes.`);
    this.size = size;
  }
}

/** More bytes than one reply can carry: the caller must ask for ranges. */
export class ReplyTooLargeError extends DataOutError {
  readonly code = 'reply_too_large';
  /** Most bytes that one reply can carry. */
  readonly maxRangeBytes: number;
  constructor(size: number, maxRangeBytes: number) {
    super(`The reply would have ${size} bytes. Ask for ranges of ${maxRangeBytes} bytes or less.`);
    this.maxRangeBytes = maxRangeBytes;
  }
}

/**
 * An export request that must not be carried out, now or later: nothing is staged, the message is dropped, `reason`
 * goes to log, metric, audit row and the administrator who asks for the state of the export.
 */
export class RequestRejectedError extends DataOutError {
  readonly code = 'request_rejected';
  readonly reason: string;
  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** A dependency is throttling, resuming or down: the same call may succeed later. */
export class TemporarilyUnavailableError extends DataOutError {
  readonly code = 'temporarily_unavailable';
  /** Seconds after which a retry makes sense. */
  readonly retryAfterSeconds: number;
  constructor(message: string, options: { retryAfterSeconds?: number; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.retryAfterSeconds = options.retryAfterSeconds ?? 15;
  }
}

/** A dependency wants fewer calls at once: the same call may succeed later, and more slowly. */
export class SlowDownError extends TemporarilyUnavailableError {}

/** The archive contradicts itself (no such body, wrong size, header that no archive key opens): an operator must look. */
export class ArchiveDamagedError extends DataOutError {
  readonly code: 'archive_damaged' | 'archive_location_unknown' = 'archive_damaged';

  /** This error, with the file's name in its message: the operator looks for a file. */
  ofFile(name: string): this {
    this.message = `file ${name}: ${this.message}`;
    return this;
  }
}

/** The archive has no body under the key that the catalogue names. S3 is consistent, so another attempt finds none either. */
export class BodyMissingError extends ArchiveDamagedError {
  /** @param object bucket and key, for the operator */
  constructor(object: string, options?: { readonly cause: unknown }) {
    super(`the archive has no body ${JSON.stringify(object)}, which the catalogue names`, options);
  }
}

/** The catalogue names a bucket that is not in the settings: the operator adds the bucket there, or corrects the row. */
export class ArchiveLocationUnknownError extends ArchiveDamagedError {
  override readonly code = 'archive_location_unknown';
  constructor(location: string) {
    super(`the archive location ${JSON.stringify(location)} names no bucket of the settings`);
  }
}
