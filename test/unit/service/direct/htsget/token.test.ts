import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { denyListOf, entryHash } from '../../../../../lib/contract/deny-list.ts';
import { outboxPrefix } from '../../../../../lib/contract/outbox-key.ts';
import { isError } from '../../../../../lib/errors.ts';
import {
  claimsOf,
  isTicketToken,
  signTicket,
  type TicketKeys,
  ticketExpiry,
  ticketPath,
  verifyTicket,
} from '../../../../../lib/service/direct/htsget/token.ts';

const key = Buffer.from('0123456789abcdef0123456789abcdef');
const subject = { iss: 'https://issuer.example.org', sub: 'ana' };
const visa = { iss: subject.iss, jti: 'visa-1' };
const grant = {
  subject,
  datasetId: 'doi:1',
  expiresAt: new Date('2026-06-02T00:00:00Z'),
  dependsOn: [entryHash(visa), outboxPrefix(subject)],
};
const now = new Date('2026-06-01T00:00:00Z');
const path = 'EGAF1/0.header';
const keysOf = (current: Uint8Array, refreshed = current): TicketKeys => ({
  current: async () => current,
  refreshed: async () => refreshed,
});
const rules = { keys: keysOf(key), denied: async () => denyListOf({ denied: [] }), now: () => now };
const claims = { ...claimsOf(grant, 'EGAD1'), expiresAt: ticketExpiry(grant, 0, now), path };
const token = signTicket(claims, key);

test('gives back what it was made of, the subject first', async () => {
  expect(await verifyTicket(token, path, rules)).toEqual({
    path,
    datasetId: 'EGAD1',
    expiresAt: new Date('2026-06-01T00:15:00Z'),
    principalId: outboxPrefix(subject),
    dependsOn: [outboxPrefix(subject), entryHash(visa)],
  });
});

test('is HMAC-SHA-256 (FIPS 198-1) over its own text and the payload, in a form that no visa has', () => {
  const [payload = '', mac] = token.split('.');
  const expected = createHmac('sha256', key).update(`data-out htsget ticket 1\n${payload}`).digest('base64url');
  expect(mac).toBe(expected);
  expect([token, 'a.b.c', 'a'].map(isTicketToken)).toEqual([true, false, false]);
});

describe('is refused', () => {
  const refusal = (value: string, changes: Partial<typeof rules> = {}, of = path) =>
    verifyTicket(value, of, { ...rules, ...changes }).then(
      () => 'accepted',
      (error: unknown) => (isError(error, 'unauthenticated') ? error.message.slice(0, 22) : error),
    );

  test.each([
    ['on another path', () => refusal(token, {}, 'EGAF2/0.header'), 'the token belongs to a'],
    ['under another key', () => refusal(token, { keys: keysOf(Buffer.alloc(32)) }), 'the token is not one o'],
    ['without a signature', () => refusal(`${token.split('.')[0]}.`), 'the token is not one o'],
    ['of garbage', () => refusal('a.b'), 'the token is not one o'],
    ['in its last second', () => refusal(token, { now: () => claims.expiresAt }), 'the ticket has expired'],
    [
      'of a denied visa',
      () => refusal(token, { denied: async () => denyListOf({ denied: [visa] }) }),
      'the operator of the se',
    ],
    [
      'of a denied subject',
      () => refusal(token, { denied: async () => denyListOf({ denied: [subject] }) }),
      'the operator of the se',
    ],
  ])('%s', async (_, refused, message) => {
    expect(await refused()).toBe(message);
  });

  test('and is accepted under a key that another instance has read before', async () => {
    expect(await refusal(token, { keys: keysOf(Buffer.alloc(32), key) })).toBe('accepted');
  });
});

describe('expires', () => {
  test.each([
    [0, '2026-06-01T00:15:00.000Z'],
    // 1,000 seconds at 2 MB/s.
    [2_000_000_000, '2026-06-01T00:31:40.000Z'],
    [1e15, '2026-06-02T00:00:00.000Z'],
  ])('over %d bytes at %s', (bytes, expected) => {
    expect(ticketExpiry({ expiresAt: new Date('2030-01-01') }, bytes, now).toISOString()).toBe(expected);
  });

  test('with the visa, if that is sooner', () => {
    const expiresAt = new Date('2026-06-01T00:00:10Z');
    expect(ticketExpiry({ expiresAt }, 1e12, now)).toEqual(expiresAt);
  });
});

test('the path is that of the route, decoded', () => {
  expect(
    ticketPath(
      new Map([
        ['id', 'EGAF%201'],
        ['part', '0.header'],
      ]),
    ),
  ).toBe('EGAF 1/0.header');
  expect(ticketPath(new Map())).toBe('/');
});
