import { htsgetErrorNames, htsgetType } from '../../../regions/htsget/names.ts';
import type { Problem } from '../../http/problem.ts';
import type { HttpReply, ReplyBody } from '../../http/reply.ts';

/** A problem reply in htsget's own model: `error` and `message`, with the stable `code`, the request id and the violations. */
export function htsgetErrorReply<Body extends ReplyBody>(reply: HttpReply<Body>): HttpReply<Body | string> {
  if (typeof reply.body !== 'string' || reply.body === '') return reply;
  const { title, detail, code, requestId, violations } = JSON.parse(reply.body) as Problem;
  const broken = violations?.map(({ field, message }) => `${field} ${message}`).join('; ');
  const error = { error: htsgetErrorNames[code], message: broken ?? detail ?? title, code, requestId };
  const htsget = { ...error, ...(violations && { violations }) };
  return { ...reply, headers: { ...reply.headers, 'Content-Type': htsgetType }, body: JSON.stringify({ htsget }) };
}
