import { beforeAll, describe, expect, test } from 'vitest';
import { entryHash } from '../../../lib/contract/deny-list.ts';
import { denialReason, parseTrustedIssuers, verifyPassport, verifyVisa } from '../../../lib/visas/index.ts';
import { denied, makeTestIssuer, type TestIssuer } from '../../helpers/issuer.ts';

const now = new Date('2026-07-01T00:00:00Z');

let issuer: TestIssuer;
beforeAll(async () => {
  issuer = await makeTestIssuer();
});

const affiliation = { type: 'AffiliationAndRole', value: 'faculty@uni.example;staff@uni.example', by: 'so' };

async function outcome(conditions: unknown, policy: 'evaluate' | 'refuse' = 'evaluate'): Promise<string> {
  const visas = [
    await issuer.visa({ dataset: 'D', visa: { conditions } }),
    await issuer.visa({ visa: affiliation }),
    await issuer.visa({
      visa: { type: 'AcceptedTermsAndPolicies', value: 'https://terms.example.org/', by: undefined },
    }),
  ];
  const issuers = parseTrustedIssuers({ issuers: [issuer.entry], conditions: policy });
  const verified = await verifyPassport(await issuer.passport(visas), { issuers, denied, now });
  return denialReason(verified, 'D') ?? 'granted';
}

const value = 'faculty@uni.example;staff@uni.example';
const matching = { type: 'AffiliationAndRole', by: 'const:so' };
const other = { type: 'AffiliationAndRole', by: 'const:dac' };
const terms = { type: 'AcceptedTermsAndPolicies', value: 'const:https://terms.example.org/' };

describe('alternatives of clauses (Passport 1.2, conditions)', () => {
  test.each([
    ['one clause that matches', [[matching]], 'granted'],
    ['one that does not', [[other]], 'conditions-not-met'],
    ['the second alternative', [[other], [matching]], 'granted'],
    ['two clauses, met by two visas', [[matching, terms]], 'granted'],
    ['two clauses, one not met', [[matching, other]], 'conditions-not-met'],
    ['claims of one clause in two visas', [[{ ...matching, value: terms.value }]], 'conditions-not-met'],
    ['an empty alternative', [[]], 'conditions-not-met'],
    ['an empty alternative before a good one', [[], [matching]], 'granted'],
    ['an alternative that is a clause', [matching], 'conditions-not-met'],
    ['a clause that is text', [['AffiliationAndRole']], 'conditions-not-met'],
    ['type alone', [[{ type: 'AffiliationAndRole' }]], 'conditions-not-met'],
    ['no type', [[{ by: 'const:so' }]], 'conditions-not-met'],
    ['type with a match type', [[{ ...matching, type: 'const:AffiliationAndRole' }]], 'conditions-not-met'],
    ['a time', [[{ ...matching, asserted: 'pattern:*' }]], 'conditions-not-met'],
    ['conditions of the other', [[{ ...matching, conditions: 'pattern:*' }]], 'conditions-not-met'],
    ['a claim the visa lacks', [[{ ...terms, by: 'pattern:*' }]], 'conditions-not-met'],
  ])('%s', async (_name, conditions, expected) => {
    expect(await outcome(conditions)).toBe(expected);
  });
});

describe('match types', () => {
  test.each([
    [`const:${value}`, 'granted'],
    ['const:faculty@uni.example', 'conditions-not-met'],
    ['const:*', 'conditions-not-met'],
    ['pattern:*', 'granted'],
    ['pattern:', 'conditions-not-met'],
    ['pattern:faculty@*.example', 'granted'],
    ['pattern:*staff@*', 'granted'],
    ['pattern:*a*a*a*', 'granted'],
    ['pattern:*z*', 'conditions-not-met'],
    ['pattern:Faculty@*', 'conditions-not-met'],
    ['pattern:faculty@*.exampl', 'conditions-not-met'],
    ['split_pattern:staff@uni.example', 'granted'],
    ['split_pattern:?????@uni.example', 'granted'],
    ['split_pattern:??????@uni.example', 'conditions-not-met'],
    ['split_pattern:*;*', 'conditions-not-met'],
    ['regex:.*', 'conditions-not-met'],
    [value, 'conditions-not-met'],
    ['', 'conditions-not-met'],
    [7, 'conditions-not-met'],
  ])('%s → %s', async (pattern, expected) => {
    expect(await outcome([[{ type: 'AffiliationAndRole', value: pattern }]])).toBe(expected);
  });

  test('a pattern of many asterisks against a long value ends soon', async () => {
    const long = await issuer.visa({ visa: { type: 'Other', value: 'a'.repeat(2000) } });
    const conditions = [[{ type: 'Other', value: `pattern:${'*a'.repeat(1000)}b` }]];
    const passport = await issuer.passport([await issuer.visa({ visa: { conditions } }), long]);
    const issuers = parseTrustedIssuers({ issuers: [issuer.entry], conditions: 'evaluate' });
    const started = performance.now();
    const { grants } = await verifyPassport(passport, { issuers, denied, now });
    expect(grants).toEqual([]);
    expect(performance.now() - started).toBeLessThan(2_000);
  });
});

describe('which visas may meet conditions', () => {
  const conditional = { dataset: 'D', visa: { conditions: [[matching]] } };
  const issuers = () => parseTrustedIssuers({ issuers: [issuer.entry], conditions: 'evaluate' });
  const open = async (...visas: string[]) =>
    verifyPassport(await issuer.passport(visas), { issuers: issuers(), denied, now });

  test('the grant ends with the visa that meets them', async () => {
    const exp = now.getTime() / 1000 + 60;
    const { grants } = await open(await issuer.visa(conditional), await issuer.visa({ exp, visa: affiliation }));
    expect(grants).toMatchObject([{ datasetId: 'D', expiresAt: new Date('2026-07-01T00:01:00Z') }]);
  });

  test('the grant rests on the visa that meets them as well', async () => {
    const { grants } = await open(
      await issuer.visa({ ...conditional, claims: { jti: 'v1' } }),
      await issuer.visa({ visa: affiliation, claims: { jti: 'v2' } }),
    );
    const [{ iss, sub }] = [grants[0]!.subject];
    expect(grants[0]?.restsOn).toEqual(
      [
        { iss, sub },
        { iss, jti: 'v1' },
        { iss, jti: 'v2' },
      ].map(entryHash),
    );
  });

  test('not one of another identity', async () => {
    const { grants, ignored } = await open(
      await issuer.visa(conditional),
      await issuer.visa({ sub: 'another', visa: affiliation }),
    );
    expect(grants).toEqual([]);
    expect(ignored).toEqual([{ position: 0, reason: 'conditions-not-met', datasetId: 'D' }]);
  });

  test('not one that has conditions itself, met or not', async () => {
    const conditions = [[terms]];
    const { grants } = await open(
      await issuer.visa(conditional),
      await issuer.visa({ visa: { ...affiliation, conditions } }),
      await issuer.visa({ visa: { type: 'AcceptedTermsAndPolicies', value: 'https://terms.example.org/' } }),
    );
    expect(grants).toEqual([]);
  });

  test('a visa alone meets none', async () => {
    const visa = verifyVisa(await issuer.visa(conditional), { issuers: issuers(), denied, now });
    await expect(visa).rejects.toMatchObject({ code: 'conditions-not-met' });
  });
});

test('unless the operator asks for evaluation, conditions that are met grant nothing either', async () => {
  expect(await outcome([[matching]])).toBe('granted');
  expect(await outcome([[matching]], 'refuse')).toBe('conditions-not-met');
  const byDefault = parseTrustedIssuers([issuer.entry]);
  expect(byDefault.conditions).toBe('refuse');
});
