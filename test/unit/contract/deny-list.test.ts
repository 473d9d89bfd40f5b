import { expect, test } from 'vitest';
import { denyListBytes, denyListDocument, denyListOf, entryHash, tokenId } from '../../../lib/contract/deny-list.ts';

const iss = 'https://issuer.example.org';

// By Python: hashlib.sha256(f'jti:{len(iss.encode())}:{iss}{jti}'.encode()).hexdigest(), and without jti: for a subject.
test.each([
  [{ iss, jti: 'visa-1' }, '632df29995a0bd3eb71173728e1bfc32060252830465889df37842ef103509de'],
  [{ iss, sub: 'someone' }, 'e833fa009ddf69142968132f6afd1becf589e322a88dd47e7e0b30abd902c573'],
  [{ iss: 'https://ü.example/', jti: 'π' }, 'bc3246453c478a4811d1ada94882e2b629453a024e33505bfb32c1dfe4f618cc'],
])('the hash of %j', (entry, hash) => {
  expect(entryHash(entry)).toBe(hash);
});

test.each([
  ['visa-1', { iss, jti: 'visa-1' }],
  // By sha256sum, of `header.claims`.
  [undefined, { iss, sha256: '81b2237054046a8ffae1ea61db0b5d9537c231d29aec7ad21436c424272e1c46' }],
  [1, { iss, sha256: '81b2237054046a8ffae1ea61db0b5d9537c231d29aec7ad21436c424272e1c46' }],
  ['', { iss, sha256: '81b2237054046a8ffae1ea61db0b5d9537c231d29aec7ad21436c424272e1c46' }],
])('a token with the jti %j is denied as %j', (jti, id) => {
  expect(tokenId('header.claims.signature', iss, jti)).toEqual(id);
  expect(denyListDocument.safeParse({ denied: [id] }).success).toBe(true);
});

test('a list is the hashes of its entries; when a token ends changes nothing', () => {
  const until = '2026-07-01T00:00:00.000Z';
  expect(denyListOf({ denied: [{ iss, jti: 'visa-1', until }] })).toEqual(new Set([entryHash({ iss, jti: 'visa-1' })]));
});

test.each([
  ['no list', {}],
  ['a misspelt member', { denied: [{ iss, subject: 'someone' }] }],
  ['both an id and a subject', { denied: [{ iss, sub: 'someone', jti: 'visa-1' }] }],
  ['a hash in capitals', { denied: [{ iss, sha256: 'AB'.repeat(32) }] }],
  ['a hash that is too long', { denied: [{ iss, sha256: 'ab'.repeat(33) }] }],
  ['an issuer alone', { denied: [{ iss }] }],
  ['an empty id', { denied: [{ iss, jti: '' }] }],
  ['a subject that ends', { denied: [{ iss, sub: 'someone', until: '2026-07-01T00:00:00Z' }] }],
  ['an end that is not a time', { denied: [{ iss, jti: 'visa-1', until: 'tomorrow' }] }],
  ['more beside the list', { denied: [], allowed: [] }],
])('%s is not a document of a deny list', (_, document) => {
  expect(denyListDocument.safeParse(document).success).toBe(false);
});

test('500 tokens with UUIDs fit into a secret', () => {
  const usual = { iss: 'https://visas.example.org/', jti: '7c9e6679-7425-40de-944b-e07fc1f90ae7' };
  const denied = Array(500).fill({ ...usual, until: '2026-07-01T00:00:00.000Z' });
  // AWS: 65,536 bytes of an encrypted secret value.
  expect(denyListBytes).toBe(65_536);
  expect(Buffer.byteLength(JSON.stringify({ denied }))).toBeLessThan(denyListBytes);
});
