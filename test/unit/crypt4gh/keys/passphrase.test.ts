import { describe, expect, test } from 'vitest';
import { formatPrivateKey, parsePrivateKey } from '../../../../lib/crypt4gh/index.ts';
import { keyVector, vectorFile } from '../../../helpers/crypt4gh-vectors.ts';
import { passphrase, passphraseVectors } from './passphrase-vectors.ts';

const key = Uint8Array.from({ length: 32 }, (_, index) => index);

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

/** In its own memory, as a caller who wipes it has it. */
function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

test.each(passphraseVectors)(
  'a passphrase outside ASCII opens files of other programs: $name, as a string and as bytes, which stay as they are',
  async (vector) => {
    const bytes = bytesOf(passphrase);
    for (const given of [passphrase, bytes]) {
      expect(hex(await parsePrivateKey(vector.text, given))).toBe(vector.privateKeyHex);
    }
    expect(bytes).toEqual(bytesOf(passphrase));
  },
);

describe('a passphrase in bytes', () => {
  test('opens a key that the Python reference generated', async () => {
    const { private: path, passphrase: text, private_key_hex } = keyVector('erin');
    expect(hex(await parsePrivateKey(vectorFile(path!), bytesOf(text!)))).toBe(private_key_hex);
  });

  test.each(['scrypt', 'pbkdf2_hmac_sha256'] as const)('protects by %s as the string does', async (kdf) => {
    const random = (size: number) => Buffer.alloc(size, 7);
    const asText = await formatPrivateKey(key, { passphrase, kdf, random });
    expect(await formatPrivateKey(key, { passphrase: bytesOf(passphrase), kdf, random })).toBe(asText);
  });

  test('that is not text is taken as it is', async () => {
    const bytes = Uint8Array.of(0xff, 0, 0xc3);
    const text = await formatPrivateKey(key, { passphrase: bytes });
    expect(await parsePrivateKey(text, bytes)).toEqual(key);
    // What a decoder would make of it.
    await expect(parsePrivateKey(text, '\ufffd\0\ufffd')).rejects.toMatchObject({ code: 'wrong-passphrase' });
  });

  test.each(['scrypt', 'bcrypt', 'pbkdf2_hmac_sha256'] as const)('may be wiped while %s is at work', async (kdf) => {
    const { text, privateKeyHex } = passphraseVectors.find(({ name }) => name === kdf)!;
    const bytes = bytesOf(passphrase);
    const parsed = parsePrivateKey(text, bytes);
    bytes.fill(0);
    expect(hex(await parsed)).toBe(privateKeyHex);
  });

  test('is wrong, or empty, as a string is', async () => {
    const { text } = passphraseVectors.find(({ name }) => name === 'bcrypt')!;
    await expect(parsePrivateKey(text, bytesOf('Tromso'))).rejects.toMatchObject({ code: 'wrong-passphrase' });
    await expect(parsePrivateKey(text, new Uint8Array())).rejects.toMatchObject({ code: 'wrong-passphrase' });
    await expect(formatPrivateKey(key, { passphrase: new Uint8Array() })).rejects.toThrow(RangeError);
  });
});

describe('a mistake of the caller would leave a key unprotected or unreadable', () => {
  test.each(['argon2', 'constructor'])('the key derivation %s, which does not exist', async (kdf) => {
    const options = { passphrase, kdf } as unknown as Parameters<typeof formatPrivateKey>[1];
    await expect(formatPrivateKey(key, options)).rejects.toThrow(new RangeError(`unknown key derivation ${kdf}`));
  });

  test('a key derivation without a passphrase', async () => {
    await expect(formatPrivateKey(key, { kdf: 'bcrypt' })).rejects.toThrow(RangeError);
  });
});
