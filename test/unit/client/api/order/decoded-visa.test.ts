import { describe, expect, test } from 'vitest';
import {
  datasetsOf,
  decodeVisaOrPassport,
  expiryOf,
  subjectOf,
} from '../../../../../lib/client/api/order/decoded-visa.ts';
import { unverifiedToken, visaClaims } from '../../../../helpers/unverified-token.ts';

describe('a visa', () => {
  test('says issuer, subject, type, dataset and times', () => {
    const visa = unverifiedToken(visaClaims('EGAD1', { nbf: 1_795_000_000 }));
    expect(decodeVisaOrPassport(visa)).toEqual({
      kind: 'visa',
      issuer: 'https://issuer.example.org/',
      expires: new Date('2026-11-21T10:00:00Z'),
      notBefore: new Date(1_795_000_000_000),
      unreadable: 0,
      visas: [
        {
          token: visa,
          issuer: 'https://issuer.example.org/',
          subject: 'jane',
          expires: new Date('2026-11-21T10:00:00Z'),
          notBefore: new Date(1_795_000_000_000),
          type: 'ControlledAccessGrants',
          value: 'EGAD1',
          source: 'https://dac.example.org',
          hasConditions: false,
        },
      ],
    });
  });
});

describe('a passport', () => {
  const inner = [
    unverifiedToken(visaClaims('EGAD1')),
    unverifiedToken(visaClaims('EGAD2', { exp: 1_795_262_400 })),
    unverifiedToken(visaClaims('EGAD1')),
    'no token',
  ];

  test('holds its visas, and counts entries that are not a visa', () => {
    const passport = decodeVisaOrPassport(
      unverifiedToken({ iss: 'https://broker.example.org', ga4gh_passport_v1: inner }),
    );
    expect(passport).toMatchObject({ kind: 'passport', issuer: 'https://broker.example.org', unreadable: 1 });
    expect(passport && datasetsOf(passport)).toEqual(['EGAD1', 'EGAD2']);
  });

  test('is about one person only if all of its visas are', () => {
    const subject = (visas: readonly string[]) => {
      const passport = decodeVisaOrPassport(unverifiedToken({ iss: 'b', ga4gh_passport_v1: visas }));
      return passport && subjectOf(passport);
    };
    expect(subject(inner)).toBe('jane');
    expect(subject([...inner, unverifiedToken(visaClaims('EGAD1', { sub: 'joe' }))])).toBeUndefined();
    const other = visaClaims('EGAD1', { iss: 'https://other-issuer.example.org/' });
    expect(subject([...inner, unverifiedToken(other)])).toBeUndefined();
    expect(subject([unverifiedToken(visaClaims('EGAD1', { sub: undefined }))])).toBeUndefined();
    expect(subject([])).toBeUndefined();
  });

  test.each([
    ['its own time, when that is earlier', 1_795_200_000, '2026-11-20T18:40:00.000Z'],
    ['the time of its last visa, when that is earlier', 1_796_000_000, '2026-11-21T12:00:00.000Z'],
    ['the time of its last visa, when it says none', undefined, '2026-11-21T12:00:00.000Z'],
  ])('ends at %s', (_what, exp, expected) => {
    const passport = decodeVisaOrPassport(unverifiedToken({ iss: 'b', exp, ga4gh_passport_v1: inner }));
    expect(passport && expiryOf(passport)?.toISOString()).toBe(expected);
  });
});

test.each([
  ['no token', 'hello'],
  ['an access token', unverifiedToken({ iss: 'https://issuer.example.org', exp: 1_795_255_200 })],
  ['a token whose claims are not an object', 'eyJhbGciOiJSUzI1NiJ9.WzFd.c2ln'],
])('%s is neither a visa nor a passport', (_what, token) => {
  expect(decodeVisaOrPassport(token)).toBeUndefined();
});
