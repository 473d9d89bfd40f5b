import { createCipheriv, generateKeyPairSync, pbkdf2Sync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  formatPrivateKey,
  generateKeyPair,
  inspectPrivateKey,
  parsePrivateKey,
  publicKeyOf,
} from '../../../../lib/crypt4gh/index.ts';
import { keyVector, vectorFile } from '../../../helpers/crypt4gh-vectors.ts';

const alice = Buffer.from(keyVector('alice').private_key_hex!, 'hex');

function field(bytes: string | Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(bytes.length);
  return Buffer.concat([length, Buffer.from(bytes)]);
}

function keyFile(...fields: (string | Buffer)[]): string {
  const bytes = Buffer.concat([Buffer.from('c4gh-v1'), ...fields.map(field)]);
  return `-----BEGIN CRYPT4GH PRIVATE KEY-----\n${bytes.toString('base64')}\n-----END CRYPT4GH PRIVATE KEY-----\n`;
}

function kdfOptions(rounds: number): Buffer {
  const options = Buffer.alloc(20, 1);
  options.writeUInt32BE(rounds);
  return options;
}

async function codeOf(text: string, passphrase?: string): Promise<unknown> {
  return parsePrivateKey(text, passphrase).then(
    () => 'no error',
    (error) => error.code,
  );
}

test('a key that an older Go tool derived by SHA-512 is told apart from a wrong passphrase of another', async () => {
  const [options, nonce] = [kdfOptions(1), Buffer.alloc(12, 2)];
  const cipher = createCipheriv('chacha20-poly1305', pbkdf2Sync('secret', options.subarray(4), 1, 32, 'sha512'), nonce);
  const sealed = Buffer.concat([nonce, cipher.update(alice), cipher.final(), cipher.getAuthTag()]);
  await expect(
    parsePrivateKey(keyFile('pbkdf2_hmac_sha256', options, 'chacha20_poly1305', sealed), 'secret'),
  ).rejects.toThrow(/^the passphrase is wrong, or an older Go tool made the key/);
  await expect(parsePrivateKey(await formatPrivateKey(alice, { passphrase: 'secret' }), 'other')).rejects.toThrow(
    /^the passphrase is wrong$/,
  );
});

describe('written private keys', () => {
  // bcrypt takes seconds, and is held to the bytes of the Python reference in test/conformance.
  test.each(['scrypt', 'pbkdf2_hmac_sha256'] as const)('protected by %s are read again', async (kdf) => {
    const comment = 'Kari Nordmann, Tromsø';
    const text = await formatPrivateKey(alice, { passphrase: 'pässwörd', kdf, comment });
    expect(inspectPrivateKey(text)).toEqual({ isProtected: true, comment });
    expect(Buffer.from(await parsePrivateKey(text, 'pässwörd'))).toEqual(alice);
    expect(await codeOf(text, 'passwörd')).toBe('wrong-passphrase');
    expect(await codeOf(text)).toBe('passphrase-required');
  });

  test('a key of the wrong length is a mistake of the caller', async () => {
    await expect(formatPrivateKey(alice.subarray(1))).rejects.toThrow(RangeError);
  });
});

describe('hostile key files', () => {
  const blob = Buffer.alloc(60);
  const sealed = (kdf: string, options: string | Buffer, key = blob) => keyFile(kdf, options, 'chacha20_poly1305', key);
  const early = `-----BEGIN CRYPT4GH PRIVATE KEY-----${Buffer.alloc(31, 1).toString('base64')}-----END CRYPT4GH PRIVATE KEY-----`;
  const hours = 2 ** 31;

  test.each([
    ['rounds that would take hours, bcrypt', sealed('bcrypt', kdfOptions(hours)), 'unsupported-kdf'],
    ['rounds that would take hours, pbkdf2', sealed('pbkdf2_hmac_sha256', kdfOptions(hours)), 'unsupported-kdf'],
    ['a derivation named like a property of every object', sealed('constructor', kdfOptions(1)), 'unsupported-kdf'],
    ['no rounds', sealed('bcrypt', kdfOptions(0)), 'invalid-key-format'],
    ['no rounds field', sealed('scrypt', 'ab'), 'invalid-key-format'],
    ['a sealed key of 27 bytes', sealed('scrypt', kdfOptions(0), blob.subarray(33)), 'invalid-key-format'],
    ['bytes after the comment', keyFile('none', 'none', alice, 'comment', 'more'), 'invalid-key-format'],
    ['a key of 31 bytes in the early form', early, 'invalid-key-format'],
    ['a public key', vectorFile('keys/alice.pub').toString(), 'invalid-key-format'],
    ['a name inherited by every object', 'constructor', 'invalid-key-format'],
    ['a file of 65,537 characters', 'a'.repeat(65_537), 'invalid-key-format'],
  ])('%s, with a passphrase or only looked at', async (_, text, code) => {
    expect(await codeOf(text, 'x')).toBe(code);
    expect(() => inspectPrivateKey(text)).toThrow(expect.objectContaining({ code }));
  });

  test('an empty passphrase is a wrong one for bcrypt, which takes none', async () => {
    expect(await codeOf(vectorFile('keys/carol.sec').toString(), '')).toBe('wrong-passphrase');
  });
});

describe('PKCS#8', () => {
  test('X25519 is read', async () => {
    const { privateKey } = generateKeyPairSync('x25519');
    const expected = Buffer.from(privateKey.export({ format: 'jwk' }).d!, 'base64url');
    const text = privateKey.export({ format: 'pem', type: 'pkcs8' });
    expect(Buffer.from(await parsePrivateKey(text))).toEqual(expected);
  });

  test('another type is named', async () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const text = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
    expect(await codeOf(text)).toBe('unsupported-key-type');
    expect(() => inspectPrivateKey(text)).toThrow(expect.objectContaining({ code: 'unsupported-key-type' }));
  });

  test('another type is not so much as imported: of a large one that would take OpenSSL minutes', async () => {
    const der = (tag: number, ...content: Uint8Array[]) => {
      const bytes = Buffer.concat(content);
      const length = Buffer.alloc(4);
      length.writeUInt32BE(bytes.length);
      return Buffer.concat([Buffer.of(tag, 0x84), length, bytes]);
    };
    const large = der(2, Buffer.concat([Buffer.of(0x7f), Buffer.alloc(30_000, 0xff)]));
    // DSA (RFC 3279 § 2.3.2): p, q and g, and as the key an exponent.
    const parameters = der(0x30, large, der(2, Buffer.alloc(20, 0x7f)), der(2, Buffer.of(2)));
    const algorithm = der(0x30, Buffer.from('06072a8648ce380401', 'hex'), parameters);
    const key = der(4, der(2, Buffer.concat([Buffer.of(0x7f), Buffer.alloc(10_000, 0xff)])));
    const content = Buffer.concat([Buffer.of(2, 1, 0), algorithm, key]);
    const length = Buffer.of(0x82, content.length >> 8, content.length & 0xff);
    const file = Buffer.concat([Buffer.of(0x30), length, content]).toString('base64');
    expect(await codeOf(`-----BEGIN PRIVATE KEY-----\n${file}\n-----END PRIVATE KEY-----`)).toBe(
      'unsupported-key-type',
    );
  });

  test.each([
    ['what only begins like X25519', Buffer.from('302e020100300506032b656e04210420', 'hex').toString('base64')],
    ['damaged DER', 'AAAA'],
  ])('%s is told', async (_, der) => {
    expect(await codeOf(`-----BEGIN PRIVATE KEY-----${der}-----END PRIVATE KEY-----`)).toBe('invalid-key-format');
  });
});

describe('key pairs', () => {
  test('the private half is what the randomness gave', () => {
    const pair = generateKeyPair(() => alice);
    expect(Buffer.from(pair.privateKey)).toEqual(alice);
    expect(Buffer.from(pair.publicKey).toString('hex')).toBe(keyVector('alice').public_key_hex);
  });

  test('the private half is in memory once, so that its owner can overwrite it', () => {
    const given = Buffer.from(alice);
    const { privateKey } = generateKeyPair(() => given);
    privateKey.fill(0);
    expect(given).toEqual(Buffer.alloc(32));
  });

  test('a private key overwritten in place is not mistaken for the one it was', () => {
    const reused = Uint8Array.from(alice);
    const before = publicKeyOf(reused);
    reused.fill(7);
    expect(publicKeyOf(reused)).not.toEqual(before);
    expect(publicKeyOf(reused)).toEqual(publicKeyOf(new Uint8Array(32).fill(7)));
  });

  test('a key of the wrong length is a mistake of the caller', () => {
    expect(() => publicKeyOf(alice.subarray(1))).toThrow(RangeError);
  });
});
