import { describe, expect, test } from 'vitest';
import { outboxVisa } from '../../../../lib/client/api/visa-choice.ts';
import { unverifiedToken, visaClaims } from '../../../helpers/unverified-token.ts';

const broker = { iss: 'https://broker.example.org/', sub: 'jane@broker', exp: 1_795_255_200 };
const passportOf = (...visas: unknown[]) => unverifiedToken({ ...broker, ga4gh_passport_v1: visas });
const visa = (dataset: string, more: Readonly<Record<string, unknown>> = {}) =>
  unverifiedToken(visaClaims(dataset, more));
const typed = (type: string, more: object = {}) =>
  unverifiedToken(visaClaims('', { ga4gh_visa_v1: { type, value: 'EGAD1', ...more } }));
const fits = () => true;

describe('for the outbox', () => {
  const one = visa('EGAD1');

  test("a visa of the passport's own identity, where there is one", () => {
    const own = visa('EGAD2', { iss: broker.iss, sub: broker.sub });
    const chosen = outboxVisa(passportOf(one, own), fits);
    expect(chosen?.visa).toBe(own);
    expect(chosen?.note).toContain('Other identities in it: 1;');
  });

  test('else of the first identity as the service orders them, the one that lasts longest', () => {
    const [a, b] = [{ iss: 'https://a.example.org/' }, { iss: 'https://b.example.org/' }];
    const longest = visa('EGAD2', { ...a, exp: 2e9 });
    expect(outboxVisa(passportOf(visa('EGAD1', b), visa('EGAD3', a), longest), fits)?.visa).toBe(longest);
  });

  test.each([
    ['none that grants nothing', [typed('AffiliationAndRole')], undefined],
    [
      'none with conditions, which others would have to meet',
      [typed('ControlledAccessGrants', { conditions: [[]] })],
      undefined,
    ],
    ['whatever else is in the list', [7, null, 'a.b.c', one], one],
  ])('%s', (_, visas, expected) => {
    expect(outboxVisa(passportOf(...visas), fits)?.visa).toBe(expected);
  });

  test('not one that does not fit, and none out of a single visa', () => {
    const other = visa('EGAD2');
    expect(outboxVisa(passportOf(one, other), (each) => each !== one)?.visa).toBe(other);
    expect(outboxVisa(one, fits)).toBeUndefined();
    expect(outboxVisa('no token', fits)).toBeUndefined();
  });
});
