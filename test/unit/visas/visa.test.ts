import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { denyListOf, tokenId } from '../../../lib/contract/deny-list.ts';
import { parseTrustedIssuers, verifyVisaOrPassport } from '../../../lib/visas/index.ts';
import { denied, makeTestIssuer, type TestIssuer, type VisaChoices } from '../../helpers/issuer.ts';

/** 2026-07-01T00:00:00Z */
const now = new Date(1_782_864_000_000);
const seconds = 1_782_864_000;

let issuer: TestIssuer;
beforeAll(async () => {
  issuer = await makeTestIssuer();
});

/** SHA-256 of `26:https://issuer.example.orgsomeone`, by Python's hashlib. */
const hashOfSomeone = 'e833fa009ddf69142968132f6afd1becf589e322a88dd47e7e0b30abd902c573';
/** The same of `jti:26:https://issuer.example.orgvisa-1`. */
const hashOfVisa1 = '632df29995a0bd3eb71173728e1bfc32060252830465889df37842ef103509de';

const verify = (token: string, options: Partial<Parameters<typeof verifyVisaOrPassport>[1]> = {}) =>
  verifyVisaOrPassport(token, { issuers: issuer.trusted, denied, now, ...options });

/** The datasets that are granted, or the code of the refusal. */
const resultOf = (...sent: Parameters<typeof verify>): Promise<string> =>
  verify(...sent).then(
    ({ grants }) => grants.map(({ datasetId }) => datasetId).join() || 'no grant',
    (error) => error.code,
  );

const outcome = async (choices: VisaChoices, entry: object = {}) =>
  resultOf(await issuer.visa(choices), { issuers: parseTrustedIssuers([{ ...issuer.entry, ...entry }]) });

const granted = 'EGAD90000000001';

test('a valid visa grants its dataset to its subject until it expires', async () => {
  const token = await issuer.visa({ sub: 'someone', dataset: 'EGAD1', exp: seconds + 3600 });
  const subject = { iss: 'https://issuer.example.org', sub: 'someone' };
  const expiresAt = new Date('2026-07-01T01:00:00Z');
  const own = createHash('sha256')
    .update(token.slice(0, token.lastIndexOf('.')))
    .digest('hex');
  expect(await verifyVisaOrPassport(token, { issuers: issuer.trusted, denied, now })).toEqual({
    kind: 'visa',
    subject,
    subjects: [subject],
    grants: [{ subject, datasetId: 'EGAD1', expiresAt, dependsOn: [hashOfSomeone, own] }],
    datasetIds: new Set(['EGAD1']),
    expiresAt,
    ignored: [],
  });
});

describe('the longest lifetime', () => {
  const year = 31_622_400;
  const years = 10 * year;
  test.each([
    ['of 366 days by default, not over', { iat: seconds - year + 1, exp: seconds + years }, undefined, granted],
    ['with its leeway', { iat: seconds - year - 59, exp: seconds + years }, undefined, granted],
    ['over', { iat: seconds - year - 60, exp: seconds + years }, undefined, 'lifetime_too_long'],
    ['of the issuer, not over', { iat: seconds - 10, exp: seconds + years }, 10, granted],
    ['of the issuer, over', { iat: seconds - 70, exp: seconds + years }, 10, 'lifetime_too_long'],
    ['over, and exp as well', { iat: seconds - years, exp: seconds - 60 }, 10, 'expired'],
  ])('%s', async (_, choices, maxLifetimeSeconds, expected) => {
    expect(await outcome(choices, { maxLifetimeSeconds })).toBe(expected);
  });

  test('ends a grant before exp, counted from iat', async () => {
    const issuers = parseTrustedIssuers([{ ...issuer.entry, maxLifetimeSeconds: 3600 }]);
    const { grants } = await verify(await issuer.visa({ iat: seconds, exp: seconds + years }), { issuers });
    expect(grants[0]?.expiresAt).toEqual(new Date((seconds + 3600) * 1000));
  });
});

describe('a deny list', () => {
  const other = 'https://other.example.org';
  const visa1 = { sub: 'someone', claims: { jti: 'visa-1' } };
  test.each([
    ['with the visa', [{ iss: 'https://issuer.example.org', jti: 'visa-1' }], visa1, 'denied'],
    ['with its subject', [{ iss: 'https://issuer.example.org', sub: 'someone' }], visa1, 'denied'],
    ["with another issuer's visa", [{ iss: other, jti: 'visa-1' }], visa1, granted],
    ["with another issuer's subject", [{ iss: other, sub: 'someone' }], visa1, granted],
    ['with the subject as the id of a visa', [{ iss: 'https://issuer.example.org', jti: 'someone' }], visa1, granted],
    ['with the visa as a subject', [{ iss: 'https://issuer.example.org', sub: 'visa-1' }], visa1, granted],
    ['with a part of its id', [{ iss: 'https://issuer.example.org', jti: 'visa-' }], visa1, granted],
    ['whose issuer takes a part of the id', [{ iss: 'https://issuer.example.orgv', jti: 'isa-1' }], visa1, granted],
    ['and an id that is not text', [{ iss: 'https://issuer.example.org', jti: '1' }], { claims: { jti: 1 } }, granted],
  ])('%s: %j, of %j: %s', async (_, entries, choices, expected) => {
    const list = denyListOf({ denied: entries });
    expect(await resultOf(await issuer.visa(choices), { denied: list })).toBe(expected);
  });

  test('with the hash of a visa without an id refuses it under every signature, and no other visa', async () => {
    const [stolen, other] = [await issuer.visa(), await issuer.visa({ sub: 'someone' })];
    const list = denyListOf({ denied: [tokenId(stolen, issuer.iss, undefined)] });
    const [header, claims] = stolen.split('.');
    const again = await issuer.visa();
    expect(again).not.toBe(stolen);
    expect(again.startsWith(`${header}.${claims}.`)).toBe(true);
    for (const token of [stolen, again]) expect(await resultOf(token, { denied: list })).toBe('denied');
    expect(await resultOf(other, { denied: list })).toBe(granted);
  });

  test('says nothing of a forged visa', async () => {
    const forged = await (await makeTestIssuer()).visa(visa1);
    const list = denyListOf({ denied: [{ iss: issuer.iss, jti: 'visa-1' }] });
    expect(await resultOf(forged, { denied: list })).toBe('bad_signature');
  });

  test('is asked by the hashes that a grant rests on', async () => {
    const { grants } = await verify(await issuer.visa(visa1));
    expect(grants[0]?.dependsOn).toEqual([hashOfSomeone, hashOfVisa1]);
  });
});

test('RS256 is taken as well', async () => {
  const rsa = await makeTestIssuer({ alg: 'RS256' });
  expect(await resultOf(await rsa.visa(), { issuers: rsa.trusted })).toBe(granted);
});

describe('times, with a leeway of 60 seconds', () => {
  test.each([
    ['exp 59 s ago', { exp: seconds - 59 }, granted],
    ['exp 60 s ago', { exp: seconds - 60 }, 'expired'],
    ['exp 59.5 s ago', { exp: seconds - 59.5 }, granted],
    ['nbf in 60 s', { claims: { nbf: seconds + 60 } }, granted],
    ['nbf in 61 s', { claims: { nbf: seconds + 61 } }, 'not_yet_valid'],
    ['iat in 60 s', { iat: seconds + 60 }, granted],
    ['iat in 61 s', { iat: seconds + 61 }, 'issued_in_future'],
    ['asserted in 60 s', { visa: { asserted: seconds + 60 } }, granted],
    ['asserted in 61 s', { visa: { asserted: seconds + 61 } }, 'asserted_in_future'],
    ['exp at the last second of a date', { exp: 8_640_000_000_000 }, granted],
    ['exp after it', { exp: 8_640_000_000_001 }, 'malformed_claim'],
    ['exp negative', { exp: -1 }, 'expired'],
    ['nbf negative', { claims: { nbf: -1 } }, 'malformed_claim'],
    ['nbf null', { claims: { nbf: null } }, 'malformed_claim'],
    ['iat a string', { claims: { iat: '1' } }, 'malformed_claim'],
  ] as const)('%s: %s → %s', async (_name, choices, expected) => {
    expect(await outcome(choices)).toBe(expected);
  });

  test('an exp beyond every number is malformed', async () => {
    const visa = await issuer.sign({ iss: issuer.iss, sub: 's', iat: 0, exp: Number.MAX_VALUE });
    expect(await resultOf(visa)).toBe('malformed_claim');
  });

  test('fractions of a second are compared as well', async () => {
    const later = { now: new Date(now.getTime() + 500) };
    expect(await resultOf(await issuer.visa({ exp: seconds - 59.5 }), later)).toBe('expired');
    expect(await resultOf(await issuer.visa({ exp: seconds - 59 }), later)).toBe(granted);
  });

  test('a clock that is not a time refuses, as an error of ours', async () => {
    await expect(verify(await issuer.visa(), { now: new Date(Number.NaN) })).rejects.toThrow(TypeError);
  });
});

describe('claims', () => {
  const url = (length: number) => 'https://x/'.padEnd(length, 'a');
  test.each([
    ['value of 255 characters', { dataset: url(255) }, url(255)],
    ['value of 256 characters', { dataset: url(256) }, 'claim_too_long'],
    ['source of 255 characters', { visa: { source: url(255) } }, granted],
    ['source of 256 characters', { visa: { source: url(256) } }, 'claim_too_long'],
    ['long value of another type', { dataset: url(256), visa: { type: 'AffiliationAndRole' } }, 'no grant'],
    ['another type without by', { visa: { type: 'AffiliationAndRole', by: undefined } }, 'no grant'],
    ['empty sub', { claims: { sub: '' } }, 'malformed_claim'],
    ['sub a number', { claims: { sub: 7 } }, 'malformed_claim'],
    ['sub with half a character', { claims: { sub: 'a\ud800' } }, 'malformed_claim'],
    ['empty value', { dataset: '' }, 'malformed_claim'],
    ['by a list', { visa: { by: ['dac'] } }, 'malformed_claim'],
    ['visa object null', { claims: { ga4gh_visa_v1: null } }, 'malformed_claim'],
    ['no visa object', { claims: { ga4gh_visa_v1: undefined } }, 'missing_claim'],
    ['conditions []', { visa: { conditions: [] } }, granted],
    ['conditions [[]]', { visa: { conditions: [[]] } }, 'conditions_not_met'],
    ['conditions null', { visa: { conditions: null } }, 'malformed_claim'],
    ['conditions {}', { visa: { conditions: {} } }, 'malformed_claim'],
    ['scope with jku', { claims: { scope: 'profile' } }, granted],
    ['scope with the word openid', { claims: { scope: 'profile openid' } }, 'malformed_claim'],
    ['scope with a longer word', { claims: { scope: 'openid2' } }, granted],
    ['scope a list', { claims: { scope: ['profile'] } }, 'malformed_claim'],
    ['scope without jku', { claims: { scope: 'profile' }, header: { jku: undefined } }, 'unsupported_visa_format'],
  ] as const)('%s', async (_name, choices, expected) => {
    expect(await outcome(choices)).toBe(expected);
  });
});

describe('header', () => {
  test.each([
    ['typ in capitals', { typ: 'VND.GA4GH.VISA+JWT' }, granted],
    ['typ with application/', { typ: 'application/vnd.ga4gh.visa+jwt' }, granted],
    ['typ JWT', { typ: 'JWT' }, granted],
    ['no typ', { typ: undefined }, granted],
    ['typ empty', { typ: '' }, 'wrong_typ'],
    ['typ a number', { typ: 7 }, 'wrong_typ'],
    ['typ of a passport', { typ: 'vnd.ga4gh.passport+jwt' }, 'wrong_typ'],
    ['typ of an access token', { typ: 'at+jwt' }, 'unsupported_visa_format'],
    ['kid unknown', { kid: 'key-2' }, 'unknown_kid'],
    ['kid a number', { kid: 1 }, 'unknown_kid'],
    ['no kid', { kid: undefined }, 'unknown_kid'],
    ['kid of a property that every object has', { kid: 'constructor' }, 'unknown_kid'],
    ['unknown member', { x: 1, b64: true }, granted],
  ] as const)('%s', async (_name, header, expected) => {
    expect(await outcome({ header })).toBe(expected);
  });

  test('crit is refused even where jose would know the extension', async () => {
    expect(await outcome({ header: { crit: ['b64'], b64: true } })).toBe('crit_unsupported');
  });

  test('a key serves one algorithm: RS256 in the header of an ES256 key is refused', async () => {
    const [, claims, signature] = (await issuer.visa()).split('.');
    const header = Buffer.from(JSON.stringify({ alg: 'RS256', kid: 'key-1' })).toString('base64url');
    expect(await resultOf([header, claims, signature].join('.'))).toBe('alg_not_allowed');
  });
});

describe('jku', () => {
  const own = 'https://issuer.example.org/jwks.json';
  test.each([
    ['configured and the same', { jku: own }, {}, granted],
    ['configured and another', { jku: `${own}/` }, {}, 'untrusted_jku'],
    ['configured and not in the visa', { jku: own }, { jku: undefined }, 'missing_claim'],
    ['configured and a list in the visa', { jku: own }, { jku: [own] }, 'untrusted_jku'],
    ['not configured, any in the visa', {}, { jku: 'https://elsewhere.example.net/' }, granted],
    ['not configured, none in the visa', {}, { jku: undefined }, granted],
  ] as const)('%s', async (_name, entry, header, expected) => {
    expect(await outcome({ header }, entry)).toBe(expected);
  });

  test('verification makes no network call', async () => {
    const fetch = vi.spyOn(globalThis, 'fetch').mockRejectedValue(new Error('network'));
    expect(await outcome({ header: { jku: own, x5u: own } }, { jku: own })).toBe(granted);
    expect(await outcome({ header: { jku: 'https://elsewhere.example.net/' } }, { jku: own })).toBe('untrusted_jku');
    expect(fetch).not.toHaveBeenCalled();
    fetch.mockRestore();
  });
});

test.each([
  ['a source that is listed', { sources: ['https://issuer.example.org/dac'] }, {}, granted],
  ['a source that is not', { sources: ['https://issuer.example.org/da'] }, {}, 'untrusted_source'],
  ['a by that is listed', { by: ['so', 'dac'] }, {}, granted],
  ['a by that is not', { by: ['so'] }, {}, 'untrusted_source'],
  ['a by that is not, on a visa that grants nothing', { by: ['so'] }, { visa: { type: 'Other' } }, 'no grant'],
  ['passports only', { issues: ['passports'], datasetIdFrom: undefined }, {}, 'untrusted_issuer'],
] as const)('what the operator allows an issuer %s', async (_name, entry, choices, expected) => {
  expect(await outcome(choices, entry)).toBe(expected);
});

describe('audience (RFC 7519 § 4.1.3)', () => {
  const us = 'https://archive.example.org';
  const several = [us, 'https://archive.example.org/v1'];
  test.each<[string, object, unknown, string]>([
    ['not configured, aud is not looked at', {}, 'https://elsewhere.example.org', granted],
    ['not configured, nor whether it is well formed', {}, 7, granted],
    ['no aud', { audience: us }, undefined, granted],
    ['this aud', { audience: us }, us, granted],
    ['one of several aud', { audience: us }, ['https://elsewhere.example.org', us], granted],
    ['one of several of ours', { audience: several }, several[1], granted],
    ['another aud', { audience: us }, 'https://elsewhere.example.org', 'wrong_audience'],
    ['only other aud', { audience: several }, ['https://elsewhere.example.org'], 'wrong_audience'],
    ['a longer aud', { audience: us }, `${us}/`, 'wrong_audience'],
    ['an empty aud', { audience: us }, [], 'wrong_audience'],
    ['aud that is not text', { audience: us }, 7, 'malformed_claim'],
    ['aud with something else in it', { audience: us }, [us, 7], 'malformed_claim'],
    ['aud that is null', { audience: us }, null, 'malformed_claim'],
  ])('%s', async (_name, entry, aud, expected) => {
    expect(await outcome({ claims: { aud } }, entry)).toBe(expected);
  });

  test('a forged token is not told about its aud', async () => {
    const other = await makeTestIssuer();
    const issuers = parseTrustedIssuers([{ ...issuer.entry, audience: us }]);
    const token = await other.visa({ claims: { aud: 'x' } });
    expect(await resultOf(token, { issuers })).toBe('bad_signature');
  });

  test('a passport for others is refused as a whole, a visa for others in it alone', async () => {
    const issuers = parseTrustedIssuers([{ ...issuer.entry, audience: us }]);
    const visas = [
      await issuer.visa({ dataset: 'EGAD1', claims: { aud: 'x' } }),
      await issuer.visa({ dataset: 'EGAD2' }),
    ];
    const { datasetIds, ignored } = await verifyVisaOrPassport(await issuer.passport(visas), { issuers, denied, now });
    expect(datasetIds).toEqual(new Set(['EGAD2']));
    expect(ignored).toEqual([{ position: 0, reason: 'wrong_audience' }]);
    const foreign = await issuer.passport(visas, { claims: { aud: ['x'] } });
    await expect(verifyVisaOrPassport(foreign, { issuers, denied, now })).rejects.toMatchObject({
      code: 'wrong_audience',
    });
  });
});

describe('datasetIdFrom', () => {
  const prefix = 'prefix:https://a.example.org/d/';
  test.each([
    ['value', 'https://a.example.org/d/EGAD1', 'https://a.example.org/d/EGAD1'],
    [prefix, 'https://a.example.org/d/EGAD1', 'EGAD1'],
    [prefix, 'https://a.example.org/d/EGAD1/', 'EGAD1/'],
    [prefix, 'https://a.example.org/d/', 'no grant'],
    [prefix, 'https://b.example.org/d/EGAD1', 'no grant'],
    [prefix, 'https://b.example.org/?https://a.example.org/d/EGAD1', 'no grant'],
    [prefix, 'HTTPS://a.example.org/d/EGAD1', 'no grant'],
    [prefix, 'EGAD1', 'no grant'],
    ['suffix', 'https://ega.tsd.usit.uio.no/datasets/EGAD1/', 'EGAD1'],
    ['suffix', 'https://www.ebi.ac.uk/ega/EGAD1', 'EGAD1'],
    ['suffix', 'https://a.example.org/EGAD1//', 'no grant'],
    ['suffix', 'https://a.example.org/EGAD1?x', 'EGAD1?x'],
    ['suffix', 'EGAD1', 'EGAD1'],
    ['suffix', '/', 'no grant'],
  ])('%s: %s → %s', async (datasetIdFrom, dataset, expected) => {
    expect(await outcome({ dataset }, { datasetIdFrom })).toBe(expected);
  });

  test('a visa for a dataset elsewhere still says who its holder is', async () => {
    const issuers = parseTrustedIssuers([{ ...issuer.entry, datasetIdFrom: prefix }]);
    const { subjects, datasetIds } = await verify(await issuer.visa({ sub: 's' }), { issuers });
    expect(subjects).toEqual([{ iss: 'https://issuer.example.org', sub: 's' }]);
    expect(datasetIds.size).toBe(0);
  });
});

describe('size and spelling', () => {
  /** A valid visa of exactly so many bytes, filled with an unknown claim. */
  async function visaOf(bytes: number): Promise<string> {
    // Three characters of filling are four of base64url: a longer header reaches the lengths between.
    for (const y of ['', 'y', 'yy', 'yyy']) {
      const filled = (length: number) => issuer.visa({ claims: { x: 'a'.repeat(length) }, header: { y } });
      const length = Math.floor(((bytes - (await filled(0)).length) * 3) / 4);
      for (const more of [0, 1]) {
        const token = await filled(length + more);
        if (token.length === bytes) return token;
      }
    }
    throw new RangeError(`no visa has ${bytes} bytes`);
  }

  test.each([
    [16_384, granted],
    [16_385, 'token_too_large'],
  ])('%d bytes → %s', async (bytes, expected) => {
    const token = await visaOf(bytes);
    expect(token).toHaveLength(bytes);
    expect(await resultOf(token)).toBe(expected);
  });

  test.each([
    ['a blank before', (token: string) => ` ${token}`, 'malformed_token'],
    ['a line end after', (token: string) => `${token}\n`, 'bad_signature'],
    ['padding', (token: string) => token.replace('.', '=.'), 'malformed_token'],
    ['no header', (token: string) => token.slice(token.indexOf('.')), 'malformed_token'],
    ['a byte order mark in the header', withHeader('\ufeff{"alg":"ES256","kid":"key-1"}'), 'malformed_token'],
    ['a header that is null', withHeader('null'), 'malformed_token'],
    ['a header that is not UTF-8', withHeader(Buffer.from('{"a":"\xff"}', 'latin1')), 'malformed_token'],
  ])('%s → %s', async (_name, change, expected) => {
    expect(await resultOf(change(await issuer.visa()))).toBe(expected);
  });
});

function withHeader(header: string | Buffer): (token: string) => string {
  return (token) => Buffer.from(header).toString('base64url') + token.slice(token.indexOf('.'));
}
