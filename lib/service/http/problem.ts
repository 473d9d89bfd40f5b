import { type ErrorCode, isError, type Violation } from '../../errors.ts';
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

/** Status, title and detail of each code: the only place where an error becomes a status. `message` shows the error's own. */
const reactions: Record<Problem['code'], readonly [status: number, title: string, detail?: string]> = {
  invalid_request: [400, 'Bad Request', 'Every broken rule is in "violations".'],
  invalid_range: [400, 'Bad Request', 'message'],
  unsupported_format: [400, 'Bad Request', 'message'],
  request_too_large: [413, 'Content Too Large', 'message'],
  unauthenticated: [401, 'Unauthorized', 'message'],
  forbidden: [403, 'Forbidden', 'message'],
  foreign_origin: [403, 'Forbidden', 'message'],
  not_found: [404, 'Not Found', 'message'],
  precondition_failed: [412, 'Precondition Failed', 'message'],
  range_not_satisfiable: [416, 'Range Not Satisfiable', 'message'],
  reply_too_large: [413, 'Content Too Large', 'message'],
  // Administrators read the reason of a rejection in the state of the export.
  request_rejected: [403, 'Forbidden'],
  temporarily_unavailable: [
    503,
    'Service Unavailable',
    'The request was not carried out. Send it again after the seconds in Retry-After.',
  ],
  archive_damaged: [500, 'Internal Server Error'],
  archive_location_unknown: [500, 'Internal Server Error'],
  internal_error: [500, 'Internal Server Error'],
};

/** The problem that an error is for the caller. An unforeseen error tells nothing but its status. */
export function problemOf(error: unknown, requestId: string): Problem {
  const known = isError(error) ? error : undefined;
  const code = known?.code ?? 'internal_error';
  const { violations, maxRangeBytes } = known ?? {};
  const [status, title, text] = reactions[code];
  const detail = text === 'message' ? known?.message : text;
  return {
    type: 'about:blank',
    title,
    status,
    ...(detail && { detail }),
    code,
    requestId,
    ...(violations && { violations }),
    ...(maxRangeBytes !== undefined && { maxRangeBytes }),
  };
}

/**
 * The reply for an error. `challenge` is the `WWW-Authenticate` value of a 401 (RFC 9110 § 11.6.1); API Gateway renames
 * that header of a function's reply to `x-amzn-remapped-www-authenticate`. The authorizers' refusals carry the real one.
 */
export function problemReply(error: unknown, requestId: string, challenge: string): HttpReply {
  const problem = problemOf(error, requestId);
  const { size, retryAfterSeconds } = isError(error) ? error : {};
  return {
    status: problem.status,
    headers: {
      ...commonHeaders(requestId),
      'Content-Type': 'application/problem+json',
      ...(problem.status === 401 && { 'WWW-Authenticate': challenge }),
      // RFC 9110 § 15.5.17: the current length of what a range was asked of.
      ...(size !== undefined && { 'Content-Range': `bytes */${size}` }),
      ...(retryAfterSeconds !== undefined && { 'Retry-After': String(retryAfterSeconds) }),
    },
    body: JSON.stringify(problem),
  };
}
