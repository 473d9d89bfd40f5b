import {
  DataOutError,
  type ErrorCode,
  InvalidRequestError,
  RangeNotSatisfiableError,
  ReplyTooLargeError,
  TemporarilyUnavailableError,
  type Violation,
} from '../../errors.ts';
import { commonHeaders, type HttpReply } from './reply.ts';

/** Problem details (RFC 9457 § 3.1) with the extension members of this service (§ 3.2). */
export interface Problem {
  /** Always `about:blank`: `title` is the status phrase and `code` tells problems of one status apart. */
  readonly type: 'about:blank';
  readonly title: string;
  readonly status: number;
  readonly detail?: string;
  /** Stable name of what went wrong, for programs. */
  readonly code: ErrorCode | 'internal_error';
  readonly requestId: string;
  /** Every broken rule of the request, with `code` `invalid_request`. */
  readonly violations?: readonly Violation[];
  /** Most bytes of one range, with `code` `reply_too_large`. */
  readonly maxRangeBytes?: number;
}

/** Status and text of each code: the only place where an error becomes a status. */
const reactions: Record<
  Problem['code'],
  { status: number; title: string; detail: (error: Error) => string | undefined }
> = {
  invalid_request: { status: 400, title: 'Bad Request', detail: () => 'Every broken rule is in "violations".' },
  invalid_range: { status: 400, title: 'Bad Request', detail: (error) => error.message },
  unsupported_format: { status: 400, title: 'Bad Request', detail: (error) => error.message },
  request_too_large: { status: 413, title: 'Content Too Large', detail: (error) => error.message },
  unauthenticated: { status: 401, title: 'Unauthorized', detail: (error) => error.message },
  forbidden: { status: 403, title: 'Forbidden', detail: (error) => error.message },
  foreign_origin: { status: 403, title: 'Forbidden', detail: (error) => error.message },
  not_found: { status: 404, title: 'Not Found', detail: (error) => error.message },
  precondition_failed: { status: 412, title: 'Precondition Failed', detail: (error) => error.message },
  range_not_satisfiable: { status: 416, title: 'Range Not Satisfiable', detail: (error) => error.message },
  reply_too_large: { status: 413, title: 'Content Too Large', detail: (error) => error.message },
  // Administrators read the reason of a rejection in the state of the export.
  request_rejected: { status: 403, title: 'Forbidden', detail: () => undefined },
  temporarily_unavailable: {
    status: 503,
    title: 'Service Unavailable',
    detail: () => 'The request was not carried out. Send it again after the seconds in Retry-After.',
  },
  archive_damaged: { status: 500, title: 'Internal Server Error', detail: () => undefined },
  archive_location_unknown: { status: 500, title: 'Internal Server Error', detail: () => undefined },
  internal_error: { status: 500, title: 'Internal Server Error', detail: () => undefined },
};

/** The problem that an error is for the caller. An unforeseen error tells nothing but its status. */
export function problemOf(error: unknown, requestId: string): Problem {
  const known = error instanceof DataOutError ? error : undefined;
  const code = known?.code ?? 'internal_error';
  const { status, title, detail } = reactions[code];
  const text = known && detail(known);
  return {
    type: 'about:blank',
    title,
    status,
    ...(text && { detail: text }),
    code,
    requestId,
    ...(error instanceof InvalidRequestError && { violations: error.violations }),
    ...(error instanceof ReplyTooLargeError && { maxRangeBytes: error.maxRangeBytes }),
  };
}

/**
 * The reply for an error. `challenge` is the `WWW-Authenticate` value of a 401 (RFC 9110 § 11.6.1); API Gateway renames
 * that header of a function's reply to `x-amzn-remapped-www-authenticate`. The authorizers' refusals carry the real one.
 */
export function problemReply(error: unknown, requestId: string, challenge: string): HttpReply {
  const problem = problemOf(error, requestId);
  return {
    status: problem.status,
    headers: {
      ...commonHeaders(requestId),
      'Content-Type': 'application/problem+json',
      ...(problem.status === 401 && { 'WWW-Authenticate': challenge }),
      // RFC 9110 § 15.5.17: the current length of what a range was asked of.
      ...(error instanceof RangeNotSatisfiableError && { 'Content-Range': `bytes */${error.size}` }),
      ...(error instanceof TemporarilyUnavailableError && { 'Retry-After': String(error.retryAfterSeconds) }),
    },
    body: JSON.stringify(problem),
  };
}
