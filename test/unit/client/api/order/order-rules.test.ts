import { describe, expect, test } from 'vitest';
import { decodeVisaOrPassport } from '../../../../../lib/client/api/order/decoded-visa.ts';
import { doubtsOf, isIdentifier, isLongExpired } from '../../../../../lib/client/api/order/order-rules.ts';
import { unverifiedToken, visaClaims } from '../../../../helpers/unverified-token.ts';

/** Expires at 2026-11-21T10:00:00Z. */
const token = decodeVisaOrPassport(unverifiedToken(visaClaims('https://archive.example.org/datasets/EGAD1')))!;

test.each([
  ['EGAD00000000001', true],
  ['x'.repeat(256), true],
  ['x'.repeat(257), false],
  ['', false],
  [' \u00a0', false],
  ['EGAD1\n', false],
])('%j is an identifier: %s', (id, expected) => {
  expect(isIdentifier(id)).toBe(expected);
});

test('clocks may differ by five minutes', () => {
  expect(isLongExpired(token, new Date('2026-11-21T10:05:00Z'))).toBe(false);
  expect(isLongExpired(token, new Date('2026-11-21T10:05:00.001Z'))).toBe(true);
});

describe('doubts', () => {
  const now = new Date('2026-11-21T09:00:00Z');

  test('there are none about the dataset that the visa names, by its address, too', () => {
    expect(doubtsOf({ id: 'EGAD1', type: 'datasetId' }, token, now)).toEqual([]);
  });

  test.each([
    ['EGAD1', true],
    ['https://x.example.org/EGAD1', true],
    ['https://x.example.org/EGAD1/', true],
    ['urn:example:EGAD1', true],
    ['https://x.example.org/d?id=EGAD1', true],
    ['XEGAD1', false],
  ])('a visa for %s names EGAD1: %s', (value, isNamed) => {
    const visa = decodeVisaOrPassport(unverifiedToken(visaClaims(value)))!;
    expect(doubtsOf({ id: 'EGAD1', type: 'datasetId' }, visa, now)).toHaveLength(isNamed ? 0 : 1);
  });

  test('are about the expiry first, then about the dataset', () => {
    const doubts = doubtsOf({ id: 'EGAD2', type: 'datasetId' }, token, new Date('2026-11-21T10:00:00Z'));
    expect(doubts).toEqual([
      expect.stringMatching(/^the visa expired at 2026-11-21T10:00:00\.000Z, 0 ms ago by this clock\. /),
      expect.stringMatching(/^the visa names https:.*EGAD1: .* another name of EGAD2$/),
    ]);
  });
});
