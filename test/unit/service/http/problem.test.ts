import { expect, test } from 'vitest';
import {
  DataOutError,
  damaged,
  invalidRequest,
  rangeNotSatisfiable,
  replyTooLarge,
  unavailable,
} from '../../../../lib/errors.ts';
import { problemReply } from '../../../../lib/service/http/problem.ts';

const secret = 'hunter2';

test.each([
  [invalidRequest([{ field: 'id', message: 'is missing' }]), 400, 'Bad Request', 'invalid_request'],
  [new DataOutError('unauthenticated', 'a visa is missing'), 401, 'Unauthorized', 'unauthenticated'],
  [new DataOutError('forbidden', 'no role'), 403, 'Forbidden', 'forbidden'],
  [new DataOutError('foreign_origin', 'a page'), 403, 'Forbidden', 'foreign_origin'],
  [new DataOutError('not_found', 'there is no such file'), 404, 'Not Found', 'not_found'],
  [new DataOutError('precondition_failed', 'other bytes'), 412, 'Precondition Failed', 'precondition_failed'],
  [rangeNotSatisfiable(10), 416, 'Range Not Satisfiable', 'range_not_satisfiable'],
  [replyTooLarge(11, 10), 413, 'Content Too Large', 'reply_too_large'],
  [new DataOutError('request_rejected', secret, { reason: 'expired' }), 403, 'Forbidden', 'request_rejected'],
  [unavailable(secret, { retryAfterSeconds: 7 }), 503, 'Service Unavailable', 'temporarily_unavailable'],
  [damaged(secret), 500, 'Internal Server Error', 'archive_damaged'],
  [new DataOutError('archive_location_unknown', secret), 500, 'Internal Server Error', 'archive_location_unknown'],
  [new TypeError(secret), 500, 'Internal Server Error', 'internal_error'],
  [secret, 500, 'Internal Server Error', 'internal_error'],
  [undefined, 500, 'Internal Server Error', 'internal_error'],
])('%o is a problem (RFC 9457) with its own status and code', (error, status, title, code) => {
  const reply = problemReply(error, 'request-1', 'Bearer');
  expect(reply.status).toBe(status);
  expect(reply.headers).toMatchObject({
    'Content-Type': 'application/problem+json',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'X-Request-Id': 'request-1',
  });
  expect(JSON.parse(reply.body)).toMatchObject({ type: 'about:blank', title, status, code, requestId: 'request-1' });
  expect(reply.body).not.toContain(secret);
  expect('WWW-Authenticate' in reply.headers).toBe(status === 401);
  expect('Retry-After' in reply.headers).toBe(status === 503);
});

test('a caller that may try again learns when', () => {
  const error = unavailable('the database', { retryAfterSeconds: 30 });
  expect(problemReply(error, 'request-1', 'Bearer').headers['Retry-After']).toBe('30');
});

test('a range after the end gets a 416 with the size (RFC 9110 § 15.5.17)', () => {
  expect(problemReply(rangeNotSatisfiable(47022), 'request-1', 'Bearer').headers['Content-Range']).toBe(
    'bytes */47022',
  );
});

test('a request for too much gets the sizes that are possible', () => {
  const reply = problemReply(replyTooLarge(300_000_000, 200_000_000), 'request-1', 'Bearer');
  expect(JSON.parse(reply.body)).toMatchObject({ maxRangeBytes: 200_000_000 });
});

test.each([
  [21, 21, '1 more broken rules are not listed'],
  [50_000, 21, '49980 more broken rules are not listed'],
])('of %i violations %i entries are listed', (count, told, last) => {
  const violations = Array.from({ length: count }, (_, at) => ({ field: `f${at}`, message: 'is not a known field' }));
  const { body } = problemReply(invalidRequest(violations), 'request-1', 'Bearer');
  const problem = JSON.parse(body) as { violations: { field: string; message: string }[] };
  expect(problem.violations).toHaveLength(told);
  expect(problem.violations[19]).toEqual({ field: 'f19', message: 'is not a known field' });
  if (last) expect(problem.violations[20]).toEqual({ field: 'request', message: last });
  expect(Buffer.byteLength(body)).toBeLessThan(4096);
});
