import { describe, expect, test } from 'vitest';
import { datasetVisa, outboxVisa, visasForAll } from '../../../../lib/client/api/visa-choice.ts';
import { unverifiedToken, visaClaims } from '../../../helpers/unverified-token.ts';

const broker = { iss: 'https://broker.example.org/', sub: 'jane@broker', exp: 1_795_255_200 };
const passportOf = (...visas: unknown[]) => unverifiedToken({ ...broker, ga4gh_passport_v1: visas });
const visa = (dataset: string, more: Readonly<Record<string, unknown>> = {}) =>
  unverifiedToken(visaClaims(dataset, more));
const typed = (type: string, more: object = {}) =>
  unverifiedToken(visaClaims('', { ga4gh_visa_v1: { type, value: 'EGAD1', ...more } }));
const fits = () => true;

describe('for a dataset', () => {
  const one = visa('EGAD1');
  test.each([
    ['by its id', [visa('EGAD2'), one], one],
    ['at the end of an address', [visa('EGAD2'), visa('https://x.example.org/EGAD1')], 1],
    ['and a slash', [visa('https://x.example.org/EGAD1/')], 0],
    ['at the end of a URN', [visa('EGAD2'), visa('urn:example:EGAD1')], 1],
    ['in a query or a fragment', [visa('EGAD2'), visa('https://x.example.org/d?id=EGAD1')], 1],
    ['not as the end of a longer id', [visa('XEGAD1')], undefined],
    ['the one that lasts longest', [one, visa('EGAD1', { exp: 2e9 }), one], 1],
    ['none that grants nothing', [typed('AffiliationAndRole')], undefined],
    [
      'none with conditions, which others would have to meet',
      [typed('ControlledAccessGrants', { conditions: [[]] })],
      undefined,
    ],
    ['whatever else is in the list', [7, null, 'a.b.c', one], one],
  ])('%s', async (_, visas, expected) => {
    const chosen = await datasetVisa('EGAD1')(passportOf(...visas), fits);
    expect(chosen?.visa).toBe(typeof expected === 'number' ? visas[expected] : expected);
  });

  test('not one that does not fit, and none out of a single visa', async () => {
    expect(await datasetVisa('EGAD1')(passportOf(one), () => false)).toBeUndefined();
    expect(await datasetVisa('EGAD1')(one, fits)).toBeUndefined();
    expect(await datasetVisa('EGAD1')('no token', fits)).toBeUndefined();
  });

  test('says which one, and never the token', async () => {
    const { note = '' } = (await datasetVisa('EGAD1')(passportOf(one), fits)) ?? {};
    expect(note).toContain('for jane, by https://issuer.example.org/, for EGAD1');
    for (const part of one.split('.').slice(1)) expect(note).not.toContain(part);
  });
});

describe('for the outbox', () => {
  test("a visa of the passport's own identity, where there is one", async () => {
    const own = visa('EGAD2', { iss: broker.iss, sub: broker.sub });
    const chosen = await outboxVisa(passportOf(visa('EGAD1'), own), fits);
    expect(chosen?.visa).toBe(own);
    expect(chosen?.note).toContain('Other identities in it: 1;');
  });

  test('else of the first identity as the service orders them, the one that lasts longest', async () => {
    const [a, b] = [{ iss: 'https://a.example.org/' }, { iss: 'https://b.example.org/' }];
    const longest = visa('EGAD2', { ...a, exp: 2e9 });
    const chosen = await outboxVisa(passportOf(visa('EGAD1', b), visa('EGAD3', a), longest), fits);
    expect(chosen?.visa).toBe(longest);
  });

  test('of one identity alone nothing is missed', async () => {
    const chosen = await outboxVisa(passportOf(visa('EGAD1'), visa('EGAD2')), fits);
    expect(chosen?.note).not.toContain('identities');
  });
});

test('for all datasets: one visa each, of those that fit', () => {
  const [short, long] = [visa('EGAD1'), visa('EGAD1', { exp: 2e9 })];
  const other = visa('EGAD2');
  expect(visasForAll(passportOf(short, other, long), fits)).toEqual([long, other]);
  expect(visasForAll(passportOf(short, other), (each) => each !== other)).toEqual([short]);
});
