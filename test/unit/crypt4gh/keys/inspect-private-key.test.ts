import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { Crypt4ghError, formatPrivateKey, inspectPrivateKey } from '../../../../lib/crypt4gh/index.ts';
import { manifest, vectorFile } from '../../../helpers/crypt4gh-vectors.ts';
import { passphraseVectors } from './passphrase-vectors.ts';

function codeOf(text: string | Uint8Array): unknown {
  try {
    inspectPrivateKey(text);
  } catch (error) {
    expect(error).toBeInstanceOf(Crypt4ghError);
    return (error as Crypt4ghError).code;
  }
  return 'no error';
}

const formats: Readonly<Record<string, string>> = {
  crypt4gh: 'crypt4gh',
  'crypt4gh-raw': 'crypt4gh',
  'ssh-ed25519': 'openssh',
  'openssl-pem': 'pkcs8',
};
const privateKeys = manifest.keys.filter((vector) => vector.private !== undefined);
/** An Ed25519 key in a file of OpenSSL, which no form in use asks for. */
const readable = privateKeys.filter(({ id, expected }) => expected === 'ok' && id !== 'peer-go-ssl-ed25519.sec.pem');
const unreadable = privateKeys.filter(({ expected }) => expected === 'error');

describe('of a private key file of others is told', () => {
  test.each(readable)('what $id is', (vector) => {
    expect(inspectPrivateKey(vectorFile(vector.private!))).toMatchObject({
      format: formats[vector.format],
      isProtected: vector.passphrase !== null,
    });
  });

  // From the manifest, and by `strings` of the files.
  test.each([
    ['keys/alice.sec', { format: 'crypt4gh', isProtected: false, kdf: undefined, comment: undefined }],
    ['keys/bob.sec', { format: 'crypt4gh', isProtected: true, kdf: 'scrypt', comment: 'bob@example.org' }],
    ['keys/carol.sec', { format: 'crypt4gh', isProtected: true, kdf: 'bcrypt', comment: 'carol@example.org' }],
    ['keys/dave.sec', { format: 'crypt4gh', isProtected: true, kdf: 'pbkdf2_hmac_sha256', comment: undefined }],
    ['keys/ssh_plain', { format: 'openssh', isProtected: false, kdf: undefined, comment: undefined }],
    ['keys/ssh_aes256ctr', { format: 'openssh', isProtected: true, kdf: 'bcrypt', comment: undefined }],
    ['peers/go/ssl-x25519.sec.pem', { format: 'pkcs8', isProtected: false, kdf: undefined, comment: undefined }],
  ])('all about %s', (path, expected) => {
    expect(inspectPrivateKey(vectorFile(path))).toEqual(expected);
  });

  test('a comment outside ASCII', () => {
    const { text } = passphraseVectors.find(({ name }) => name === 'bcrypt')!;
    expect(inspectPrivateKey(text).comment).toBe('Åse');
  });

  test.each(unreadable)('why $id is refused, where it needs no passphrase', (vector) => {
    const needsPassphrase = vector.category === 'wrong-passphrase' || vector.category === 'passphrase-required';
    expect(codeOf(vectorFile(vector.private!))).toBe(needsPassphrase ? 'no error' : vector.category);
  });
});

describe('of a file of ours is told', () => {
  const key = new Uint8Array(32).fill(7);

  test.each(['scrypt', 'bcrypt', 'pbkdf2_hmac_sha256'] as const)('%s, and the comment', async (kdf) => {
    const text = await formatPrivateKey(key, { passphrase: 'secret', kdf, comment: 'Kari Nordmann, Tromsø' });
    const expected = { format: 'crypt4gh', isProtected: true, kdf, comment: 'Kari Nordmann, Tromsø' };
    expect(inspectPrivateKey(text)).toEqual(expected);
  });

  test('nothing of the key', async () => {
    const shown = JSON.stringify(inspectPrivateKey(await formatPrivateKey(key, { comment: 'mine' })));
    expect(shown).toBe('{"format":"crypt4gh","isProtected":false,"comment":"mine"}');
  });
});

describe('refused without a passphrase', () => {
  function keyFile(...fields: (string | Buffer)[]): string {
    const parts = fields.flatMap((field) => [Buffer.of(field.length >> 8, field.length), Buffer.from(field)]);
    const bytes = Buffer.concat([Buffer.from('c4gh-v1'), ...parts]);
    return `-----BEGIN CRYPT4GH PRIVATE KEY-----\n${bytes.toString('base64')}\n-----END CRYPT4GH PRIVATE KEY-----\n`;
  }
  const sealed = Buffer.alloc(60);

  test.each([
    ['rounds of bcrypt that would take hours', 'bcrypt', Buffer.alloc(20, 0x7f), 'unsupported-kdf'],
    ['rounds of pbkdf2 that would take hours', 'pbkdf2_hmac_sha256', Buffer.alloc(20, 0x7f), 'unsupported-kdf'],
    ['no rounds', 'bcrypt', Buffer.alloc(20), 'invalid-key-format'],
    ['a name inherited by every object', 'constructor', Buffer.alloc(20, 1), 'unsupported-kdf'],
  ])('%s', (_, kdf, options, code) => {
    expect(codeOf(keyFile(kdf, options, 'chacha20_poly1305', sealed))).toBe(code);
  });

  test('a sealed key that is cut short', () => {
    const text = keyFile('scrypt', Buffer.alloc(20), 'chacha20_poly1305', sealed.subarray(33));
    expect(codeOf(text)).toBe('invalid-key-format');
  });

  test('a key of 31 bytes in the early form', () => {
    const text = `-----BEGIN CRYPT4GH PRIVATE KEY-----${Buffer.alloc(31, 1).toString('base64')}-----END CRYPT4GH PRIVATE KEY-----`;
    expect(codeOf(text)).toBe('invalid-key-format');
  });

  test.each([
    ['a public key', vectorFile('keys/alice.pub'), 'invalid-key-format'],
    ['no key at all', 'alice', 'invalid-key-format'],
    ['a file of 65,537 characters', 'a'.repeat(65_537), 'invalid-key-format'],
  ])('%s', (_, text, code) => {
    expect(codeOf(text)).toBe(code);
  });

  test('PKCS#8 of another type', () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    expect(codeOf(privateKey.export({ format: 'pem', type: 'pkcs8' }).toString())).toBe('unsupported-key-type');
  });
});
