import { describe, expect, test } from 'vitest';
import { parsePublicKey } from '../../../../lib/crypt4gh/index.ts';

/** The line that OpenSSH writes for an Ed25519 key: two strings with their lengths, in base64. */
function sshLine(hex: string): string {
  const name = Buffer.from('ssh-ed25519');
  const length = (size: number) => Buffer.of(0, 0, 0, size);
  const blob = Buffer.concat([length(name.length), name, length(32), Buffer.from(hex, 'hex')]);
  return `ssh-ed25519 ${blob.toString('base64')} comment`;
}

// RFC 8032 § 7.1, tests 1 to 3; X25519 by libsodium 1.0.18 (crypto_sign_ed25519_pk_to_curve25519).
test.each([
  [
    'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
    'd85e07ec22b0ad881537c2f44d662d1a143cf830c57aca4305d85c7a90f6b62e',
  ],
  [
    '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c',
    '25c704c594b88afc00a76b69d1ed2b984d7e22550f3ed0802d04fbcd07d38d47',
  ],
  [
    'fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025',
    'cbb22fc9f790bd3eba9b84680c157ca4950a9894362601701f89c3c4d9fda23a',
  ],
])('%s becomes the X25519 key that others make of it', (ed25519, x25519) => {
  expect(Buffer.from(parsePublicKey(sshLine(ed25519))).toString('hex')).toBe(x25519);
});

describe('the 26 encodings of points that are not canonical are refused (RFC 8032 § 5.1.3)', () => {
  /** y below 2^255 - 19 is the only right one: p + 0 to p + 18, where that is a point, with either sign of x. */
  const tooLarge = ['ed', 'ee', 'f0', 'f1', 'f2', 'f3', 'f6', 'f7', 'fb', 'fc', 'fd', 'ff'].flatMap((low) =>
    ['7f', 'ff'].map((top) => `${low}${'ff'.repeat(30)}${top}`),
  );
  /** x = 0 has no sign. */
  const signedZero = [`01${'00'.repeat(30)}80`, `ec${'ff'.repeat(30)}ff`];
  const all = [...tooLarge, ...signedZero];
  test('there are as many', () => expect(new Set(all).size).toBe(26));

  test.each(all)('%s', (hex) => {
    expect(() => parsePublicKey(sshLine(hex))).toThrow(expect.objectContaining({ code: 'invalid-key-format' }));
  });
});

// For these y there is no x on the curve: (y^2 - 1) / (d y^2 + 1) is not a square.
test.each(
  ['02', '07', '08', '0b', '0c', '0d', '11', '14', '16'].flatMap((low) => ['00', '80'].map((top) => [low, top])),
)('y = 0x%s with top byte 0x%s is not a point of the curve', (low, top) => {
  expect(() => parsePublicKey(sshLine(`${low}${'00'.repeat(30)}${top}`))).toThrow(
    expect.objectContaining({ code: 'invalid-key-format' }),
  );
});

// Of order 1, 2, 4, 4, 8, 8, 8 and 8.
test.each([
  `01${'00'.repeat(31)}`,
  `ec${'ff'.repeat(30)}7f`,
  '00'.repeat(32),
  `${'00'.repeat(31)}80`,
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa',
])('the point of small order %s is refused', (hex) => {
  expect(() => parsePublicKey(sshLine(hex))).toThrow(expect.objectContaining({ code: 'weak-public-key' }));
});
