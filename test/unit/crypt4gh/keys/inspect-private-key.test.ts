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

test('of a file of ours is told nothing of the key', async () => {
  const shown = JSON.stringify(
    inspectPrivateKey(await formatPrivateKey(new Uint8Array(32).fill(7), { comment: 'mine' })),
  );
  expect(shown).toBe('{"format":"crypt4gh","isProtected":false,"comment":"mine"}');
});
