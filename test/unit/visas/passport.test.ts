import { beforeAll, describe, expect, test } from 'vitest';
import { denyListOf, entryHash } from '../../../lib/contract/deny-list.ts';
import {
  denialReason,
  parseTrustedIssuers,
  type VerifiedGrants,
  verifyVisaOrPassport,
} from '../../../lib/visas/index.ts';
import { denied, makeTestIssuer, type TestIssuer } from '../../helpers/issuer.ts';

const now = new Date('2026-07-01T00:00:00Z');
const inHours = (hours: number) => now.getTime() / 1000 + hours * 3600;

const brokerIss = 'https://broker.example.org/';
const issA = 'https://a.example.org/';
const issB = 'https://b.example.org/';

let broker: TestIssuer;
let a: TestIssuer;
let b: TestIssuer;
let stranger: TestIssuer;
beforeAll(async () => {
  broker = await makeTestIssuer({ iss: brokerIss });
  a = await makeTestIssuer({ iss: issA, entry: { issues: ['visas'] } });
  b = await makeTestIssuer({ iss: issB, entry: { issues: ['visas'] } });
  stranger = await makeTestIssuer({ iss: 'https://stranger.example.net/' });
});

async function open(passport: Promise<string>, list = denied, ofBroker: object = {}): Promise<VerifiedGrants> {
  const issuers = parseTrustedIssuers([{ ...broker.entry, ...ofBroker }, a.entry, b.entry]);
  return verifyVisaOrPassport(await passport, { issuers, denied: list, now });
}

const reasonOf = (passport: Promise<string>, ofBroker: object = {}) =>
  open(passport, denied, ofBroker).then(
    () => 'accepted',
    (error) => error.code,
  );

describe('identities', () => {
  test('visas of two identities are not merged: each dataset goes to the identity of its visa', async () => {
    const visas = [await b.visa({ sub: '1', dataset: 'D2' }), await a.visa({ sub: '1', dataset: 'D1' })];
    const { subject, subjects, grants, datasetIds } = await open(broker.passport(visas));
    expect(grants).toMatchObject([
      { subject: { iss: issA, sub: '1' }, datasetId: 'D1' },
      { subject: { iss: issB, sub: '1' }, datasetId: 'D2' },
    ]);
    expect(subjects).toEqual([
      { iss: issA, sub: '1' },
      { iss: issB, sub: '1' },
    ]);
    expect(subject).toEqual({ iss: issA, sub: '1' });
    expect(datasetIds).toEqual(new Set(['D1', 'D2']));
  });

  test("the passport's own identity comes first, whatever the order of the visas", async () => {
    const visas = [
      await a.visa({ sub: '1', dataset: 'D' }),
      await a.visa({ sub: '2', dataset: 'D' }),
      await b.visa({ sub: '1', dataset: 'D' }),
      await broker.visa({ sub: 'me', dataset: 'D' }),
      await broker.visa({ sub: 'also me', dataset: 'D' }),
    ];
    const expected = [
      { iss: brokerIss, sub: 'me' },
      { iss: issA, sub: '1' },
      { iss: issA, sub: '2' },
      { iss: issB, sub: '1' },
      { iss: brokerIss, sub: 'also me' },
    ];
    for (const order of [visas, visas.toReversed(), [visas[3], visas[1], visas[0], visas[4], visas[2]]]) {
      const { subject, subjects, grants } = await open(broker.passport(order, { sub: 'me' }));
      expect(subjects).toEqual(expected);
      expect(subject).toEqual(expected[0]);
      expect(grants.map((grant) => grant.subject)).toEqual(expected);
    }
  });

  test('without a visa that counts the subject is of the passport and grants nothing', async () => {
    const affiliation = await a.visa({ visa: { type: 'AffiliationAndRole' } });
    const verified = await open(broker.passport([affiliation], { sub: 'me' }));
    expect(verified).toMatchObject({ subject: { iss: brokerIss, sub: 'me' }, subjects: [], grants: [], ignored: [] });
    expect(denialReason(verified, 'EGAD90000000001')).toBe('no_matching_visa');
  });

  test('an identity found with a visa alone is found with a passport around it', async () => {
    const visa = await b.visa({ sub: 'x' });
    const [alone] = (await open(Promise.resolve(visa))).subjects;
    const { subjects } = await open(broker.passport([await a.visa({ sub: 'y' }), visa], { sub: 'z' }));
    expect(subjects).toContainEqual(alone);
  });
});

test('a visa with conditions grants nothing, though the passport holds a visa that meets them', async () => {
  const conditions = [[{ type: 'AffiliationAndRole', by: 'const:so' }]];
  const verified = await open(
    broker.passport([
      await a.visa({ dataset: 'D', visa: { conditions } }),
      await a.visa({ visa: { type: 'AffiliationAndRole', by: 'so' } }),
    ]),
  );
  expect(verified.grants).toEqual([]);
  expect(verified.ignored).toEqual([{ position: 0, reason: 'conditions_not_met', datasetId: 'D' }]);
  expect(denialReason(verified, 'D')).toBe('conditions_not_met');
});

describe('expiry', () => {
  test('the earliest of the passport and the visas counts, for each grant and for all', async () => {
    const visas = [await a.visa({ dataset: 'D1', exp: inHours(2) }), await a.visa({ dataset: 'D2', exp: inHours(5) })];
    const { grants, expiresAt } = await open(broker.passport(visas, { exp: inHours(4) }));
    expect(grants.map((grant) => grant.expiresAt)).toEqual([
      new Date('2026-07-01T02:00:00Z'),
      new Date('2026-07-01T04:00:00Z'),
    ]);
    expect(expiresAt).toEqual(new Date('2026-07-01T02:00:00Z'));
  });

  test('of two visas of one identity for one dataset the later one wins', async () => {
    const visas = await Promise.all([2, 3, 1].map((hours) => a.visa({ exp: inHours(hours) })));
    const { grants } = await open(broker.passport(visas));
    expect(grants).toMatchObject([{ expiresAt: new Date('2026-07-01T03:00:00Z') }]);
  });
});

test('a visa that fails is left out alone, and its place and reason are told', async () => {
  const visas = [
    42,
    null,
    'a.b',
    await a.visa({ exp: inHours(-1) }),
    await stranger.visa(),
    await a.visa({ dataset: 'good' }),
    (await a.visa()).slice(0, -4),
    await broker.passport([await a.visa({ dataset: 'inside' })]),
  ];
  const { datasetIds, ignored } = await open(broker.passport(visas));
  expect(datasetIds).toEqual(new Set(['good']));
  expect(ignored).toEqual([
    { position: 0, reason: 'malformed_token' },
    { position: 1, reason: 'malformed_token' },
    { position: 2, reason: 'malformed_token' },
    { position: 3, reason: 'expired' },
    { position: 4, reason: 'untrusted_issuer' },
    { position: 6, reason: 'bad_signature' },
    { position: 7, reason: 'wrong_typ' },
  ]);
});

describe('a passport that fails is refused as a whole', () => {
  test.each([
    ['200 visas', () => broker.passport(Array(200).fill('x')), 'accepted'],
    ['201 visas', () => broker.passport(Array(201).fill('x')), 'claim_too_long'],
    ['no list', () => broker.passport({ length: 0 }), 'malformed_claim'],
    ['no claim', () => broker.passport(undefined), 'missing_claim'],
    ['typ JWT', () => broker.passport([], { header: { typ: 'JWT' } }), 'wrong_typ'],
    ['no typ', () => broker.passport([], { header: { typ: undefined } }), 'wrong_typ'],
    ['expired', () => broker.passport([], { exp: inHours(-1) }), 'expired'],
    ['of an issuer trusted for visas only', () => a.passport([]), 'untrusted_issuer'],
    ['of a stranger', () => stranger.passport([]), 'untrusted_issuer'],
  ])('%s', async (_name, passport, expected) => {
    expect(await reasonOf(passport())).toBe(expected);
  });

  test('that is older than its issuer lets it become; the visas in it are judged by their own', async () => {
    const rule = { maxLifetimeSeconds: 3600 };
    const inside = [await a.visa({ dataset: 'D' })];
    const since = (hours: number) => broker.passport(inside, { iat: inHours(hours), exp: inHours(9999) });
    expect((await open(since(-0.5), denied, rule)).datasetIds).toEqual(new Set(['D']));
    expect(await reasonOf(since(-1.1), rule)).toBe('lifetime_too_long');
  });

  test('another jku than the configured one', async () => {
    const jku = 'https://broker.example.org/jwks.json';
    const verify = (header: Record<string, unknown>) => reasonOf(broker.passport([], { header }), { jku });
    expect(await verify({})).toBe('accepted');
    expect(await verify({ jku })).toBe('accepted');
    expect(await verify({ jku: 'https://stranger.example.net/' })).toBe('untrusted_jku');
  });
});

describe('a deny list', () => {
  const passport = async () =>
    broker.passport(
      [
        await a.visa({ sub: '1', dataset: 'D1', claims: { jti: 'v1' } }),
        await a.visa({ sub: '2', dataset: 'D2', claims: { jti: 'v2' } }),
      ],
      { sub: 'me', claims: { jti: 'p1' } },
    );

  test.each([
    ['a visa', { iss: issA, jti: 'v1' }],
    ['the subject of a visa', { iss: issA, sub: '1' }],
  ])('with %s leaves that one out alone', async (_, entry) => {
    const { datasetIds, ignored } = await open(passport(), denyListOf({ denied: [entry] }));
    expect([...datasetIds]).toEqual(['D2']);
    expect(ignored).toEqual([{ position: 0, reason: 'denied' }]);
  });

  test.each([
    ['the passport', { iss: brokerIss, jti: 'p1' }],
    ['its subject', { iss: brokerIss, sub: 'me' }],
  ])('with %s refuses the whole', async (_, entry) => {
    await expect(open(passport(), denyListOf({ denied: [entry] }))).rejects.toMatchObject({ code: 'denied' });
  });

  test('a grant rests on its visa and on the passport, not on the other visas', async () => {
    const { grants } = await open(passport());
    const around = [
      { iss: brokerIss, sub: 'me' },
      { iss: brokerIss, jti: 'p1' },
    ];
    expect(grants[0]?.dependsOn).toEqual([{ iss: issA, sub: '1' }, { iss: issA, jti: 'v1' }, ...around].map(entryHash));
  });
});

describe('sizes', () => {
  /** A passport around one visa, of exactly so many bytes. */
  async function passportOf(bytes: number): Promise<string> {
    const visas = [await a.visa({ dataset: 'D' })];
    const make = (letters: number) => broker.passport(visas, { claims: { padding: 'x'.repeat(letters) } });
    let letters = Math.floor(((bytes - (await make(0)).length) * 3) / 4);
    for (let made = await make(letters); ; made = await make(++letters)) if (made.length >= bytes) return made;
  }

  test('a passport may have 262,144 bytes', async () => {
    const fitting = await passportOf(262_144);
    expect(fitting).toHaveLength(262_144);
    expect([...(await open(Promise.resolve(fitting))).datasetIds]).toEqual(['D']);
    expect(await reasonOf(passportOf(262_145))).toBe('token_too_large');
  });

  test('a passport holds 200 visas of usual size', async () => {
    const visas = await Promise.all(Array.from({ length: 200 }, (_, index) => a.visa({ dataset: `EGAD${index}` })));
    expect((await open(broker.passport(visas))).datasetIds.size).toBe(200);
  });

  test('a visa in it may have 16,384 bytes like any other', async () => {
    const padded = (letters: number) => a.visa({ dataset: 'D', claims: { padding: 'x'.repeat(letters) } });
    const { datasetIds, ignored } = await open(broker.passport([await padded(13_000), await padded(11_000)]));
    expect([...datasetIds]).toEqual(['D']);
    expect(ignored).toEqual([{ position: 0, reason: 'token_too_large' }]);
  });
});

test('a token with both claims is a visa and nothing more', async () => {
  const both = await broker.visa({ dataset: 'D1', claims: { ga4gh_passport_v1: [await a.visa({ dataset: 'D2' })] } });
  const { kind, datasetIds } = await open(Promise.resolve(both));
  expect({ kind, datasetIds }).toEqual({ kind: 'visa', datasetIds: new Set(['D1']) });
});
