import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { leftOutKeys, parseTrustedIssuers, TrustedIssuersError } from '../../../lib/visas/index.ts';
import { makeTestIssuer, type TestIssuer } from '../../helpers/issuer.ts';

let issuer: TestIssuer;
let key: Record<string, unknown>;
beforeAll(async () => {
  issuer = await makeTestIssuer();
  key = { ...issuer.jwks.keys[0] };
});

function problem(config: unknown): string {
  try {
    parseTrustedIssuers(config);
  } catch (error) {
    if (error instanceof TrustedIssuersError) return error.message;
    throw error;
  }
  return 'accepted';
}

function rsa(modulusLength: number, publicExponent = 65_537): Record<string, unknown> {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength, publicExponent });
  return { ...publicKey.export({ format: 'jwk' }), kid: 'rsa' };
}

const withKeys = (...keys: unknown[]) => [{ iss: issuer.iss, jwks: { keys } }];

test('the list that is shipped trusts no issuer', () => {
  const shipped = readFileSync(new URL('../../../config/trusted-issuers.json', import.meta.url), 'utf8');
  expect(parseTrustedIssuers(JSON.parse(shipped)).size).toBe(0);
});

test('an issuer is trusted for visas only and by the whole value, unless it says otherwise', () => {
  const entry = parseTrustedIssuers(withKeys(key)).get(issuer.iss);
  expect(entry?.issues).toEqual(new Set(['visas']));
  expect(entry?.datasetIdOf('https://x/D/')).toBe('https://x/D/');
});

test('the example in the documentation is a valid list', () => {
  const text = readFileSync(new URL('../../../docs/trusted-issuers.md', import.meta.url), 'utf8');
  const examples = [...text.matchAll(/```json\n(.*?)```/gs)].map(([, json]) => JSON.parse(json!));
  expect(examples).not.toHaveLength(0);
  for (const example of examples) expect(problem(example)).toBe('accepted');
});

test('an RSA key may have the smallest exponent, 3', () => {
  expect(problem(withKeys(rsa(2048, 3)))).toBe('accepted');
});

describe('refused at start-up, with the field named', () => {
  test.each<[string, () => unknown, string]>([
    ['no list', () => null, 'issuers: '],
    ['no iss', () => [{ jwks: issuer.jwks }], 'issuers[0].iss: '],
    ['no jwks', () => [{ iss: 'x' }], 'issuers[0].jwks: '],
    ['a misspelt field', () => [{ ...issuer.entry, source: ['x'] }], 'issuers[0]: Unrecognized key: "source"'],
    ['an unknown role', () => [{ ...issuer.entry, issues: ['keys'] }], 'issuers[0].issues[0]: '],
    [
      'an empty prefix',
      () => [{ ...issuer.entry, datasetIdFrom: 'prefix:' }],
      'issuers[0].datasetIdFrom: expected "value"',
    ],
    [
      'an unknown rule',
      () => [{ ...issuer.entry, datasetIdFrom: 'regex' }],
      'issuers[0].datasetIdFrom: expected "value"',
    ],
    [
      'a prefix that ends inside a name',
      () => [{ ...issuer.entry, datasetIdFrom: 'prefix:https://archive.example.org' }],
      'issuers[0].datasetIdFrom: a prefix must end in one of / : # = ?',
    ],
    ['an empty audience', () => [{ ...issuer.entry, audience: '' }], 'issuers[0].audience: '],
    ['no lifetime', () => [{ ...issuer.entry, maxLifetimeSeconds: 0 }], 'issuers[0].maxLifetimeSeconds: '],
    ['an issuer twice', () => [issuer.entry, issuer.entry], 'issuers[1].iss: listed twice'],
    ['no kid', () => withKeys({ ...key, kid: undefined }), 'issuers[0].jwks.keys[0].kid: '],
    ['a kid twice', () => withKeys(key, { ...rsa(2048), kid: key.kid }), 'issuers[0].jwks.keys[1].kid: another key'],
    ['RSA of 2047 bits', () => withKeys(rsa(2047)), 'issuers[0].jwks.keys[0].n: an RSA key of 2047 bits'],
    ['a private key', () => withKeys({ ...key, d: 'AA' }), 'issuers[0].jwks.keys[0].d: a private'],
    ['a symmetric key', () => withKeys({ kty: 'oct', kid: 'x', k: 'AA' }), 'issuers[0].jwks.keys[0].k: a private'],
    ['another kind of key', () => withKeys({ kty: 'OKP', crv: 'Ed25519', x: 'AA', kid: 'x' }), 'keys[0].kty: '],
    ['another curve', () => withKeys({ ...key, crv: 'P-384', alg: undefined }), 'keys[0].crv: expected "P-256"'],
    ['a point off the curve', () => withKeys({ ...key, y: key.x }), 'keys[0].x: not an EC public key'],
    ['an exponent of 1', () => withKeys({ ...rsa(2048), e: 'AQ' }), 'issuers[0].jwks.keys[0].'],
    ['a key for encryption', () => withKeys({ ...key, use: 'enc' }), 'keys[0].use: expected "sig"'],
    ['nothing but a key for encryption', () => withKeys({ ...rsa(2048), use: 'enc' }), 'jwks.keys: no key verifies'],
    ['a key for signing only', () => withKeys({ ...key, key_ops: ['sign'] }), 'keys[0].key_ops: expected "verify"'],
  ])('%s', (_name, config, expected) => {
    expect(problem(config())).toContain(expected);
  });

  test('every problem is told at once', () => {
    const lines = problem([
      {
        iss: '',
        jwks: {
          keys: [
            { ...key, kid: '' },
            { ...key, use: 'enc' },
          ],
        },
        by: [],
      },
    ]).split('\n');
    expect(lines).toHaveLength(5);
  });
});

test.each([...'/:#=?'])('a prefix may end in %s', (end) => {
  const issuers = parseTrustedIssuers([{ ...issuer.entry, datasetIdFrom: `prefix:urn${end}` }]);
  expect(issuers.get(issuer.iss)?.datasetIdOf(`urn${end}EGAD1`)).toBe('EGAD1');
});

test('keys for encryption of a published set are left out, with a notice', () => {
  const encryption = [
    { ...rsa(2048), kid: 'enc', use: 'enc', alg: 'RSA-OAEP' },
    { kty: 'EC', crv: 'P-384', kid: 'x', alg: 'ECDH-ES' },
  ];
  const issuers = parseTrustedIssuers(withKeys(key, ...encryption));
  expect(issuers.get(issuer.iss)?.jwks.byId.get('enc')).toBeUndefined();
  expect(issuers.get(issuer.iss)?.jwks.byId.get(String(key.kid))).toBeDefined();
  expect(leftOutKeys(issuers)).toBe(`keys for encryption are ignored: 2 of ${issuer.iss}`);
  expect(leftOutKeys(parseTrustedIssuers(withKeys(key)))).toBeUndefined();
});

test.each([
  ['RSA of 2048 bits', () => rsa(2048)],
  ['a key without alg, use and key_ops', () => ({ ...key, alg: undefined, use: undefined })],
  ['members that are not used', () => ({ ...key, x5c: ['AA'], x5t: 'AA', other: 1 })],
])('%s is taken', (_name, jwk) => {
  expect(problem(withKeys(jwk()))).toBe('accepted');
});
