import { expect, test } from 'vitest';
import { refusal } from '../../../../lib/client/api/problem.ts';
import type { TransportReply } from '../../../../lib/client/api/transport.ts';
import { archiveCredentials } from '../../../../lib/service/outbox/archive-credentials.ts';
import { authorizeOutboxCaller } from '../../../../lib/service/outbox/caller.ts';
import { VisaError, type VisaErrorCode } from '../../../../lib/visas/index.ts';
import { basic, httpRequest } from '../../../helpers/http-request.ts';

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
  refusal(reply(401, JSON.stringify({ status: 401, code: 'unauthenticated', detail })), 'the listing', 'researcher');

test('a request too many for the firewall is worth another attempt, and no reason to look at the visa', async () => {
  const detail = 'Too many requests came from your network address within five minutes; try again in a minute.';
  const error = await refusal(
    reply(429, JSON.stringify({ status: 429, code: 'throttled', detail })),
    'the listing',
    'researcher',
  );
  expect(error).toMatchObject({ message: `the listing: ${detail}`, remedy: 'Try again later.', retryable: true });
});

test('a 403 that another firewall caused is not taken for a refusal of the visa', async () => {
  const problem = { status: 403, code: 'invalid_request', detail: 'The request was refused.' };
  const error = await refusal(reply(403, JSON.stringify(problem)), 'the listing', 'researcher');
  expect(error).toMatchObject({ code: 'forbidden', message: 'the listing: The request was refused.' });
  expect(error.remedy).toMatch(/^The gateway .*before anything looked at the visa.*another network/);
  expect(error.remedy).not.toMatch(/data access committee/);
});

test('an administrator is told about credentials of administrators', async () => {
  const problem = JSON.stringify({ status: 401, code: 'unauthenticated', detail: 'the password is wrong' });
  const error = await refusal(reply(401, problem), 'the list of exports', 'administrator');
  expect(error.remedy).toContain('DATA_OUT_ADMIN_PASSWORD');
});

/** The service's own words, as its authorizers give them. @param visa default: it is in force */
async function wordsOfService(headers: Record<string, string>, visa?: VisaErrorCode): Promise<string> {
  const subject = { iss: 'https://issuer.example.org/', sub: 'jane' };
  const verify = async () => {
    if (visa) throw new VisaError(visa);
    return { subject, subjects: [subject], grants: [], expiresAt: now };
  };
  const users = { find: async () => undefined };
  const checkArchiveCredentials = archiveCredentials(users, 'required', () => now);
  const access = { rules: { verify } as never, checkArchiveCredentials };
  return await authorizeOutboxCaller(httpRequest({ headers }), access).then(
    () => 'admitted',
    (error: Error) => error.message,
  );
}

const sent = { 'X-GA4GH-Visa': 'a.b.c' };
const password = basic('jane', 'x');

test.each<[string, () => Promise<string>, RegExp]>([
  ['no visa', () => wordsOfService({}), /--username.*new visa/],
  ['an expired visa', () => wordsOfService(sent, 'expired'), /new visa.*same file/],
  ['a visa of another issuer', () => wordsOfService(sent, 'untrusted_issuer'), /send this message to the archive/],
  ['a wrong password', () => wordsOfService({ ...sent, Authorization: password }), /--username.*data-out setup/],
])('what the service says to %s gets a remedy', async (_what, words, remedy) => {
  const error = await unauthenticated(await words());
  expect(error).toMatchObject({ code: 'unauthenticated', remedy: expect.stringMatching(remedy) });
});
