import { expect, test } from 'vitest';
import { visasAmong } from '../../../../../lib/client/api/order/decoded-visa.ts';
import { checkVisa } from '../../../../../lib/client/cli/doctor/examine.ts';
import { unverifiedToken, visaClaims } from '../../../../helpers/unverified-token.ts';

const now = new Date('2026-11-21T09:00:00Z');
const check = (more: Readonly<Record<string, unknown>> = {}) =>
  checkVisa(unverifiedToken(visaClaims('EGAD1', more)), now, 'Renew it.');

test('a good visa: subject, expiry, datasets, and a note that it was not verified', () => {
  expect(check()).toMatchObject({
    verdict: 'ok',
    text:
      'visa of https://issuer.example.org/ for jane, until 2026-11-21T10:00:00.000Z (1 h 00 min left), ' +
      'grants EGAD1 (decoded, not verified)',
    details: { datasets: ['EGAD1'], verified: false },
  });
});

test.each([
  ['has expired', { exp: 1_795_251_600 - 1 }, 'expired at 2026-11-21T08:59:59.000Z'],
  ['does not say until when', { exp: undefined }, 'it has no time of expiry'],
  ['is not valid yet', { nbf: 1_795_255_199 }, 'not valid before 2026-11-21T09:59:59.000Z'],
  ['is of another type', { ga4gh_visa_v1: { type: 'ResearcherStatus', value: 'x' } }, 'it grants no dataset'],
])('fails when it %s', (_what, claims, text) => {
  const result = check(claims);
  expect(result).toMatchObject({ verdict: 'failed', code: 'unauthenticated' });
  expect(result.text).toContain(text);
  expect(result.remedy).toBeTruthy();
});

test('looks at all visas of a file, and says what to do about those that have expired', () => {
  const visas = ['EGAD1', 'EGAD2', 'EGAD3'].map((dataset, index) => visaClaims(dataset, index > 1 ? { exp: 1 } : {}));
  const held = visasAmong(visas.map(unverifiedToken));
  const result = checkVisa(held[0]?.token ?? '', now, 'Run data-out login.', held);
  expect(result).toMatchObject({ verdict: 'warning', remedy: 'Run data-out login.' });
  expect(result.text).toContain('grants EGAD1, EGAD2; expired: EGAD3');
});

test('warns of a visa that ends within minutes', () => {
  expect(check({ exp: 1_795_251_600 + 240 })).toMatchObject({
    verdict: 'warning',
    text: expect.stringContaining('4 min 00 s'),
  });
});

test('a text that is not a visa fails, and is not repeated', () => {
  const result = checkVisa('super-secret', now, 'Renew it.');
  expect(result).toMatchObject({ verdict: 'failed', text: 'the token is neither a GA4GH visa nor a passport' });
});
