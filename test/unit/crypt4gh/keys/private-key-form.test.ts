import { generateKeyPairSync } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parsePublicKey } from '../../../../lib/crypt4gh/index.ts';
import { looksLikePrivateKey } from '../../../../lib/crypt4gh/keys/private-key-form.ts';
import { vectorFile } from '../../../helpers/crypt4gh-vectors.ts';

const names = readdirSync(join(import.meta.dirname, '../../../vectors/keys'));
const publicNames = names.filter((name) => name.endsWith('.pub'));
const privateNames = names.filter((name) => name.endsWith('.sec') || (name.startsWith('ssh_') && !name.includes('.')));
const pair = generateKeyPairSync('x25519');
const base64 = (text: string) => Buffer.from(text).toString('base64');
const insideOf = (pem: string) => pem.replaceAll(/-----[A-Z0-9 ]+-----|\n/g, '');

/** Known as a private key, and refused where a public one is expected. */
function expectPrivate(text: string) {
  expect(looksLikePrivateKey(text)).toBe(true);
  expect(() => parsePublicKey(text)).toThrow('expected a public key, got a private one');
}

describe('a private key is known', () => {
  test.each(privateNames)('in the file %s, in the base64 of it, and by the base64 in it alone', (name) => {
    const pem = vectorFile(`keys/${name}`).toString();
    for (const text of [pem, `\n  ${pem}`, base64(pem), insideOf(pem)]) expectPrivate(text);
  });

  const pkcs8 = pair.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  test.each([
    ['PKCS#8 as PEM', pkcs8],
    ['PKCS#8 as DER', insideOf(pkcs8)],
    ['PKCS#1', rsa.export({ format: 'pem', type: 'pkcs1' }).toString()],
    ['encrypted PKCS#8', '-----BEGIN ENCRYPTED PRIVATE KEY-----\nMA==\n-----END ENCRYPTED PRIVATE KEY-----'],
    ['its beginning alone', '-----BEGIN CRYPT4GH PRIVATE KEY-----'],
    ['one after other text', 'My key:\n-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl'],
  ])('%s', (_, text) => expectPrivate(text));
});

describe('nothing else is taken for one', () => {
  test.each(publicNames)('the public key %s', (name) => {
    const text = vectorFile(`keys/${name}`).toString();
    for (const form of [text, base64(text), insideOf(text)]) expect(looksLikePrivateKey(form)).toBe(false);
  });

  test.each([
    ['an X25519 SPKI as PEM', pair.publicKey.export({ format: 'pem', type: 'spki' }).toString()],
    ['an X25519 SPKI as DER', pair.publicKey.export({ format: 'der', type: 'spki' }).toString('base64')],
    ['a visa', 'eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJhIn0.c2ln'],
    ['an identifier', 'EGAD00000000001'],
    ['an OpenSSH line', 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ me'],
    ['words about one', 'the private key'],
    ['words about one in capitals', 'This is not a PRIVATE KEY.'],
    ['base64 of 32 bytes', vectorFile('keys/alice.pub').toString().split('\n')[1] ?? ''],
    ['32 bytes that begin like PKCS#8', Buffer.from(`301e020100${'55'.repeat(27)}`, 'hex').toString('base64')],
    ['nothing', ''],
  ])('%s', (_, text) => {
    expect(looksLikePrivateKey(text)).toBe(false);
  });
});
