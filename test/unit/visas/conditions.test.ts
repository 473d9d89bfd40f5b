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
    ['one that does not', [[other]], 'conditions_not_met'],
    ['the second alternative', [[other], [matching]], 'granted'],
    ['two clauses, met by two visas', [[matching, terms]], 'granted'],
    ['two clauses, one not met', [[matching, other]], 'conditions_not_met'],
    ['claims of one clause in two visas', [[{ ...matching, value: terms.value }]], 'conditions_not_met'],
    ['an empty alternative', [[]], 'conditions_not_met'],
    ['an empty alternative before a good one', [[], [matching]], 'granted'],
    ['an alternative that is a clause', [matching], 'conditions_not_met'],
    ['a clause that is text', [['AffiliationAndRole']], 'conditions_not_met'],
    ['type alone', [[{ type: 'AffiliationAndRole' }]], 'conditions_not_met'],
    ['no type', [[{ by: 'const:so' }]], 'conditions_not_met'],
    ['type with a match type', [[{ ...matching, type: 'const:AffiliationAndRole' }]], 'conditions_not_met'],
    ['a time', [[{ ...matching, asserted: 'pattern:*' }]], 'conditions_not_met'],
    ['conditions of the other', [[{ ...matching, conditions: 'pattern:*' }]], 'conditions_not_met'],
    ['a claim the visa lacks', [[{ ...terms, by: 'pattern:*' }]], 'conditions_not_met'],
  ])('%s', async (_name, conditions, expected) => {
    expect(await outcome(conditions)).toBe(expected);
  });
});

describe('match types', () => {
  test.each([
    [`const:${value}`, 'granted'],
    ['const:faculty@uni.example', 'conditions_not_met'],
    ['const:*', 'conditions_not_met'],
    ['pattern:*', 'granted'],
    ['pattern:', 'conditions_not_met'],
    ['pattern:faculty@*.example', 'granted'],
    ['pattern:*staff@*', 'granted'],
    ['pattern:*a*a*a*', 'granted'],
    ['pattern:*z*', 'conditions_not_met'],
    ['pattern:Faculty@*', 'conditions_not_met'],
    ['pattern:faculty@*.exampl', 'conditions_not_met'],
    ['split_pattern:staff@uni.example', 'granted'],
    ['split_pattern:?????@uni.example', 'granted'],
    ['split_pattern:??????@uni.example', 'conditions_not_met'],
    ['split_pattern:*;*', 'conditions_not_met'],
    ['regex:.*', 'conditions_not_met'],
    [value, 'conditions_not_met'],
    ['', 'conditions_not_met'],
    [7, 'conditions_not_met'],
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
    expect(grants[0]?.dependsOn).toEqual(
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
    expect(ignored).toEqual([{ position: 0, reason: 'conditions_not_met', datasetId: 'D' }]);
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
    await expect(visa).rejects.toMatchObject({ code: 'conditions_not_met' });
  });
});

test('unless the operator asks for evaluation, conditions that are met grant nothing either', async () => {
  expect(await outcome([[matching]])).toBe('granted');
  expect(await outcome([[matching]], 'refuse')).toBe('conditions_not_met');
  const byDefault = parseTrustedIssuers([issuer.entry]);
  expect(byDefault.conditions).toBe('refuse');
});
