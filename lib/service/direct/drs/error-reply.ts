import type { Problem } from '../../http/problem.ts';
import type { HttpReply } from '../../http/reply.ts';

/**
 * A problem reply in DRS's own model: `Error` with `status_code` and `msg`, as `application/json`. DRS leaves room for more
 * members, so the stable `code`, the request id and the violations stay.
 */
export function drsErrorReply(reply: HttpReply): HttpReply {
  const { status, title, detail, code, requestId, violations } = JSON.parse(reply.body) as Problem;
  const error = { status_code: status, msg: detail ?? title, code, requestId, ...(violations && { violations }) };
  return { ...reply, headers: { ...reply.headers, 'Content-Type': 'application/json' }, body: JSON.stringify(error) };
}
