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

const privateKeys = manifest.keys.filter((vector) => vector.private !== undefined);
/** An Ed25519 key in a file of OpenSSL, which no form in use asks for. */
const readable = privateKeys.filter(({ id, expected }) => expected === 'ok' && id !== 'peer-go-ssl-ed25519.sec.pem');
const unreadable = privateKeys.filter(({ expected }) => expected === 'error');

describe('of a private key file of others is told', () => {
  test.each(readable)('whether $id is protected', (vector) => {
    expect(inspectPrivateKey(vectorFile(vector.private!)).isProtected).toBe(vector.passphrase !== null);
  });

  // From the manifest, and by `strings` of the files.
  test.each([
    ['keys/alice.sec', { isProtected: false, comment: undefined }],
    ['keys/bob.sec', { isProtected: true, comment: 'bob@example.org' }],
    ['keys/carol.sec', { isProtected: true, comment: 'carol@example.org' }],
    ['keys/dave.sec', { isProtected: true, comment: undefined }],
    ['keys/ssh_plain', { isProtected: false, comment: undefined }],
    ['keys/ssh_aes256ctr', { isProtected: true, comment: undefined }],
    ['peers/go/ssl-x25519.sec.pem', { isProtected: false, comment: undefined }],
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
  expect(shown).toBe('{"isProtected":false,"comment":"mine"}');
});
