import { generateKeyPairSync } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { looksLikePrivateKey } from '../../../../lib/crypt4gh/keys/private-key-form.ts';
import { vectorFile } from '../../../helpers/crypt4gh-vectors.ts';

const names = readdirSync(join(import.meta.dirname, '../../../vectors/keys'));
const publicNames = names.filter((name) => name.endsWith('.pub'));
const privateNames = names.filter((name) => name.endsWith('.sec') || (name.startsWith('ssh_') && !name.includes('.')));
const pair = generateKeyPairSync('x25519');
const base64 = (text: string) => Buffer.from(text).toString('base64');
const insideOf = (pem: string) => pem.replaceAll(/-----[A-Z0-9 ]+-----|\n/g, '');

describe('a private key is known', () => {
  test.each(privateNames)('in the file %s, in the base64 of it, and by the base64 in it alone', (name) => {
    const pem = vectorFile(`keys/${name}`).toString();
    for (const text of [pem, `\n  ${pem}`, base64(pem), insideOf(pem)]) expect(looksLikePrivateKey(text)).toBe(true);
  });

  test('as PKCS#8, as PEM and as DER', () => {
    const pem = pair.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
    for (const text of [pem, insideOf(pem)]) expect(looksLikePrivateKey(text)).toBe(true);
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
    expect(looksLikePrivateKey(rsa.export({ format: 'pem', type: 'pkcs1' }).toString())).toBe(true);
  });

  test('when only its beginning was pasted, or text stands before it', () => {
    expect(looksLikePrivateKey('-----BEGIN CRYPT4GH PRIVATE KEY-----')).toBe(true);
    expect(looksLikePrivateKey('My key:\n-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl')).toBe(true);
  });
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
    ['words about one', 'the private key'],
    ['32 bytes that begin like PKCS#8', Buffer.from(`301e020100${'55'.repeat(27)}`, 'hex').toString('base64')],
    ['nothing', ''],
  ])('%s', (_, text) => {
    expect(looksLikePrivateKey(text)).toBe(false);
  });
});
