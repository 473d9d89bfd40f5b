import { expect, test } from 'vitest';
import { refusal } from '../../../lib/client/problem.ts';
import type { TransportReply } from '../../../lib/client/transport.ts';

const now = new Date('2026-11-21T10:00:00Z');

function reply(status: number, body: string | undefined): TransportReply {
  const headers: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/problem+json' };
  return {
    status,
    header: (name) => headers[name],
    body: { async *[Symbol.asyncIterator]() {} },
    text: async () => body ?? '',
    discard: async () => undefined,
  };
}

const unauthenticated = (detail: string) =>
  refusal(reply(401, JSON.stringify({ status: 401, code: 'unauthenticated', detail })), 'the listing', now);

test.each([
  ["the central archive's user name or password is wrong", /--username.*--password-file.*DATA_OUT_PASSWORD/, /visa/],
  ['the visa has expired', /new visa.*--visa/, /password/],
  ['The credentials are missing or wrong.', /new visa.*password.*data-out doctor/, /$^/],
])('%s: what to do is about what was refused', async (detail, remedy, other) => {
  const error = await unauthenticated(detail);
  expect(error).toMatchObject({ code: 'unauthenticated', message: `the listing: ${detail}` });
  expect(error.remedy).toMatch(remedy);
  expect(error.remedy).not.toMatch(other);
});

test('a DRS error (DRS 1.5.0, Error) tells its reason in msg', async () => {
  const expired = {
    status_code: 401,
    msg: 'the visa was refused (expired): the token has expired',
    code: 'unauthenticated',
  };
  const error = await refusal(reply(401, JSON.stringify(expired)), 'the access to "EGAF1"', now);
  expect(error.message).toBe('the access to "EGAF1": the visa was refused (expired): the token has expired');
  expect(error.remedy).toMatch(/new visa.*--visa/);
});
