import { describe, expect, test } from 'vitest';
import {
  Crypt4ghError,
  formatPrivateKey,
  formatPublicKey,
  parsePrivateKey,
  parsePublicKey,
  publicKeyOf,
} from '../../lib/crypt4gh/index.ts';
import { type KeyVector, manifest, privateKeyOf, vectorFile } from '../helpers/crypt4gh-vectors.ts';
import { everyRun } from '../helpers/runs.ts';

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

async function codeOf(work: () => unknown): Promise<string> {
  try {
    await work();
  } catch (error) {
    expect(error).toBeInstanceOf(Crypt4ghError);
    return (error as Crypt4ghError).code;
  }
  return 'no error';
}

/** Keys the manifest calls optional that are Ed25519 in OpenSSL's files, which no form in use asks for. */
const notRead = ['peer-go-ssl-ed25519.sec.pem', 'peer-go-ssl-ed25519.pub.pem'];

const keys = manifest.keys.map((key) => [key.id, key] as const);
/** Of the program and the costly derivation that wrote the key of carol. */
const alike = ['peer-python-alice', 'peer-python-bob'];
const readable = keys.filter(([id, key]) => key.expected === 'ok' && !notRead.includes(id));
const unreadable = keys.filter(([, key]) => key.expected === 'error');

test('the manifest holds the keys this suite was written for', () => {
  expect([keys.length, readable.length, unreadable.length]).toEqual([63, 39, 21]);
});

const read = readable.filter(([id]) => everyRun || !alike.includes(id));
describe.each(read)('key %s is read', (_, key: KeyVector) => {
  test('to the stated bytes', async () => {
    if (key.private !== undefined) {
      const privateKey = await parsePrivateKey(vectorFile(key.private), key.passphrase ?? undefined);
      expect(hex(privateKey)).toBe(key.private_key_hex);
      if (key.public_key_hex !== undefined) expect(hex(publicKeyOf(privateKey))).toBe(key.public_key_hex);
    }
    if (key.public !== undefined) expect(hex(parsePublicKey(vectorFile(key.public)))).toBe(key.public_key_hex);
  });
});

describe.each(unreadable)('key %s is refused', (_, key: KeyVector) => {
  test('for the stated reason', async () => {
    const { private: privatePath, public: publicPath, passphrase, category } = key;
    if (privatePath !== undefined) {
      expect(await codeOf(() => parsePrivateKey(vectorFile(privatePath), passphrase ?? undefined))).toBe(category);
    }
    if (publicPath !== undefined) expect(await codeOf(() => parsePublicKey(vectorFile(publicPath)))).toBe(category);
  });
});

test('Ed25519 keys in files of OpenSSL are told apart from damaged ones', async () => {
  expect(await codeOf(() => parsePrivateKey(vectorFile('peers/go/ssl-ed25519.sec.pem')))).toBe('unsupported-key-type');
  expect(await codeOf(() => parsePublicKey(vectorFile('peers/go/ssl-ed25519.pub.pem')))).toBe('unsupported-key-type');
});

test('misspelt PEM labels around a public key are refused', async () => {
  expect(await codeOf(() => parsePublicKey(vectorFile('peers/js/testcase7_wrongPubkeyFile')))).toBe(
    'invalid-key-format',
  );
});

describe('files of the Python reference are written byte for byte', () => {
  test('unprotected private key', async () => {
    const privateKey = await privateKeyOf('alice');
    expect(await formatPrivateKey(privateKey)).toBe(vectorFile('keys/alice.sec').toString());
  });

  test('public key', () => {
    const publicKey = parsePublicKey(vectorFile('keys/alice.pub'));
    expect(formatPublicKey(publicKey)).toBe(vectorFile('keys/alice.pub').toString());
  });

  // In each file: salt after the kdf name and the rounds, nonce at the start of the sealed key.
  test.each([
    ['bob', 'scrypt'],
    ['carol', 'bcrypt'],
    ['dave', 'pbkdf2_hmac_sha256'],
  ] as const)('%s, protected by %s, given its salt and nonce', async (id, kdf) => {
    const key = manifest.keys.find((candidate) => candidate.id === id)! as KeyVector & { comment: string | null };
    const file = vectorFile(key.private!).toString();
    const bytes = Buffer.from(file.split('\n').slice(1, -2).join(''), 'base64');
    const saltAt = 7 + 2 + kdf.length + 2 + 4;
    const nonceAt = saltAt + 16 + 2 + 'chacha20_poly1305'.length + 2;
    const randomness = [bytes.subarray(saltAt, saltAt + 16), bytes.subarray(nonceAt, nonceAt + 12)];
    const written = await formatPrivateKey(await privateKeyOf(id), {
      passphrase: key.passphrase!,
      kdf,
      random: () => randomness.shift()!,
      ...(key.comment === null ? {} : { comment: key.comment }),
    });
    expect(Buffer.from(written.split('\n')[1]!, 'base64').toString('hex')).toBe(bytes.toString('hex'));
  });
});
