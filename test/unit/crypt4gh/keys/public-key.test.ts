import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { formatPublicKey, parsePublicKey, publicKeyFingerprint } from '../../../../lib/crypt4gh/index.ts';
import { keyVector, sha256, vectorFile } from '../../../helpers/crypt4gh-vectors.ts';

const raw = Buffer.from(keyVector('alice').public_key_hex!, 'hex');
const pem = vectorFile('keys/alice.pub').toString();
const base64 = raw.toString('base64');
// Node writes these from its own idea of the key, not from ours.
const pair = generateKeyPairSync('x25519');
const spkiDer = pair.publicKey.export({ format: 'der', type: 'spki' });
const spkiPem = pair.publicKey.export({ format: 'pem', type: 'spki' }).toString();
const spkiRaw = Buffer.from(pair.publicKey.export({ format: 'jwk' }).x!, 'base64url');
const sshLine = vectorFile('keys/ssh_plain.pub').toString();
const sshRaw = Buffer.from(keyVector('ssh_plain').public_key_hex!, 'hex');

test.each<[string, string | Uint8Array, Buffer]>([
  ['Crypt4GH PEM', pem, raw],
  ['Crypt4GH PEM as bytes', Buffer.from(pem), raw],
  ['Crypt4GH PEM without line breaks', pem.replaceAll('\n', ''), raw],
  ['Crypt4GH PEM with spaces for line breaks', pem.replaceAll('\n', ' '), raw],
  ['base64 of that PEM', Buffer.from(pem).toString('base64'), raw],
  ['base64 of the PEM without line breaks', Buffer.from(pem.replaceAll('\n', '')).toString('base64'), raw],
  ['base64 of the 32 bytes', base64, raw],
  ['base64 without padding, white space around', ` ${base64.replace('=', '')}\r\n`, raw],
  ['the 32 bytes', raw, raw],
  ['X25519 SPKI as PEM', spkiPem, spkiRaw],
  ['X25519 SPKI as PEM without line breaks', spkiPem.replaceAll('\n', ''), spkiRaw],
  ['base64 of the SPKI PEM', Buffer.from(spkiPem).toString('base64'), spkiRaw],
  ['base64 of the SPKI DER', spkiDer.toString('base64'), spkiRaw],
  ['OpenSSH line', sshLine, sshRaw],
  ['OpenSSH line without comment', sshLine.split(' ').slice(0, 2).join(' '), sshRaw],
])('every form of a public key that is in use: %s', (_, input, expected) => {
  expect(Buffer.from(parsePublicKey(input))).toEqual(expected);
});

function spki(type: 'rsa' | 'ec' | 'ed25519'): string {
  const { publicKey } =
    type === 'rsa'
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : type === 'ec'
        ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
        : generateKeyPairSync('ed25519');
  return publicKey.export({ format: 'pem', type: 'spki' }).toString();
}

describe('an unusable public key', () => {
  test.each<[string, string | Uint8Array, string]>([
    ['nothing', '', 'invalid-key-format'],
    ['prose', 'not a key at all!', 'invalid-key-format'],
    ['31 bytes', raw.subarray(1).toString('base64'), 'invalid-key-length'],
    ['33 bytes', Buffer.concat([raw, raw.subarray(0, 1)]).toString('base64'), 'invalid-key-length'],
    ['base64url', raw.toString('base64url').replace(/^./, '_'), 'invalid-key-format'],
    ['an RSA key', spki('rsa'), 'unsupported-key-type'],
    ['a P-256 key', spki('ec'), 'unsupported-key-type'],
    ['an Ed25519 key outside OpenSSH', spki('ed25519'), 'unsupported-key-type'],
    ['SPKI cut short', spkiDer.subarray(0, 40).toString('base64'), 'invalid-key-length'],
    ['an OpenSSH RSA line', 'ssh-rsa AAAAB3NzaC1yc2E= someone', 'unsupported-key-type'],
    ['an OpenSSH line cut short', sshLine.slice(0, 60), 'invalid-key-format'],
    ['an OpenSSH line that is not base64', 'ssh-ed25519 ??? someone', 'invalid-key-format'],
    ['a private key', vectorFile('keys/alice.sec').toString(), 'invalid-key-format'],
    ['PEM without an end', pem.split('\n').slice(0, 2).join('\n'), 'invalid-key-format'],
    ['PEM with two keys', pem + pem, 'invalid-key-format'],
    ['100,000 characters', 'A'.repeat(100_000), 'invalid-key-format'],
  ])('%s', (_, input, code) => {
    expect(() => parsePublicKey(input)).toThrow(expect.objectContaining({ code }));
  });

  // The points of order 1, 2, 4 and 8 of Curve25519 and its twist, little-endian, with their non-canonical forms.
  test.each([
    `00${'00'.repeat(31)}`,
    `01${'00'.repeat(31)}`,
    'e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800',
    '5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157',
    `ec${'ff'.repeat(30)}7f`,
    `ed${'ff'.repeat(30)}7f`,
    `ee${'ff'.repeat(30)}7f`,
  ])('point of small order %s', (hex) => {
    const point = Buffer.from(hex, 'hex');
    for (const form of [point, point.toString('base64'), formatPublicKey(point)]) {
      expect(() => parsePublicKey(form)).toThrow(expect.objectContaining({ code: 'weak-public-key' }));
    }
  });

  test.each([
    ['2^255 - 19 + 2', `ef${'ff'.repeat(30)}7f`],
    ['a key with the top bit set', `${'11'.repeat(31)}91`],
    ['2^256 - 1', 'ff'.repeat(32)],
  ])('no private key has it: %s', (_, hex) => {
    expect(() => parsePublicKey(Buffer.from(hex, 'hex'))).toThrow(
      expect.objectContaining({ code: 'invalid-key-format' }),
    );
  });

  test('2^255 - 20 but two is the largest number that is taken', () => {
    const largest = Buffer.from(`eb${'ff'.repeat(30)}7f`, 'hex');
    expect(Buffer.from(parsePublicKey(largest))).toEqual(largest);
  });

  test('no error repeats what was given', () => {
    const secret = vectorFile('keys/alice.sec').toString();
    const inner = secret.split('\n')[1]!;
    for (const form of [secret, inner, inner.slice(0, 40)]) {
      expect(() => parsePublicKey(form)).toThrow(
        expect.objectContaining({ message: expect.not.stringContaining(inner.slice(10, 20)) }),
      );
    }
  });
});

test('the fingerprint is the SHA-256 of the 32 bytes', () => {
  expect(publicKeyFingerprint(raw)).toBe(sha256(raw));
});

test('a key of the wrong length is a mistake of the caller', () => {
  expect(() => formatPublicKey(raw.subarray(1))).toThrow(RangeError);
  expect(() => publicKeyFingerprint(raw.subarray(1))).toThrow(RangeError);
});
