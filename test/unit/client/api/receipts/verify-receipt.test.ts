import { createHmac } from 'node:crypto';
import { calculateJwkThumbprint } from 'jose';
import { describe, expect, test } from 'vitest';
import { parseKeySet } from '../../../../../lib/client/api/receipts/key-set.ts';
import { verifyReceipt } from '../../../../../lib/client/api/receipts/verify-receipt.ts';
import { ReceiptSigner, receiptOf, requestId } from '../../../../helpers/receipts.ts';

const signer = new ReceiptSigner();
const keys = await parseKeySet(JSON.stringify(signer.keySet), 'test');
const file = {
  name: 'EGAF00000000001-a.bam.c4gh',
  file_id: 'EGAF00000000001',
  path: '/a/é.bam',
  size: 1124,
  plaintext_size: 972,
  plaintext_sha256: 'cd'.repeat(32),
  crc64nvme: 'rosUhgp5mIg=',
  header_sha256: 'ef'.repeat(32),
};
const good = receiptOf([file]);

/** The message of the refusal; `accepted` if there is none. */
async function refusal(jws: Uint8Array): Promise<string> {
  try {
    await verifyReceipt(jws, keys);
    return 'accepted';
  } catch (error) {
    expect(error).toMatchObject({ code: 'not_verified' });
    return (error as Error).message;
  }
}

/** With the next character as its last one. */
function nextLast(jws: Buffer): string {
  jws.writeUInt8(jws.readUInt8(jws.length - 1) + 1, jws.length - 1);
  return jws.toString();
}

describe('a receipt', () => {
  test('is read when its signature holds', async () => {
    expect(await verifyReceipt(signer.sign(good), keys)).toEqual(good);
  });

  test('may be signed by an old key that the set still lists', async () => {
    const old = new ReceiptSigner('key-0');
    const both = await parseKeySet(JSON.stringify({ keys: [signer.jwk, old.jwk] }), 'test');
    expect(await verifyReceipt(old.sign(good), both)).toEqual(good);
  });

  test('is refused if another key has signed it under the same id', async () => {
    expect(await refusal(new ReceiptSigner().sign(good))).toMatch(/signature of the receipt is not valid/);
  });

  test('is refused if its key is unknown, with what to do', async () => {
    const error = await verifyReceipt(new ReceiptSigner('other').sign(good), keys).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'not_verified', remedy: expect.stringContaining('jwks.json') });
  });

  test.each([
    ['no algorithm', { alg: 'none' }],
    ['another algorithm', { alg: 'ES384' }],
    ['another type', { typ: 'JWT' }],
    ['no type', { typ: undefined }],
    ['no key id', { kid: undefined }],
    ['a critical extension', { crit: ['later'], later: true }],
  ])('is refused with %s, though the signature holds', async (_what, header) => {
    expect(await refusal(signer.sign(good, header))).not.toBe('accepted');
  });

  test('is refused with a MAC made from the public key (RFC 8725 § 2.1)', async () => {
    const header = { alg: 'HS256', typ: 'data-out-delivery+jwt', kid: signer.kid };
    const input = [header, good].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
    const mac = createHmac('sha256', JSON.stringify(signer.jwk)).update(input).digest('base64url');
    expect(await refusal(Buffer.from(`${input}.${mac}`))).not.toBe('accepted');
  });

  test.each([
    ['nothing', ''],
    ['text', 'hello'],
    ['a line end', `${signer.sign(good)}\n`],
    // A, Q, g or w: the next one has the same bits of the signature.
    ['the unused bits of the last character set', nextLast(signer.sign(good))],
  ])('is refused if it is or has %s', async (_what, text) => {
    expect(await refusal(Buffer.from(text))).not.toBe('accepted');
  });

  test('is refused if it has more than 128 MiB', async () => {
    expect(await refusal(new Uint8Array(128 * 1024 * 1024 + 1))).toMatch(/larger than 134217728 bytes/);
  });
});

describe('the content of a signed receipt is checked', () => {
  test.each([
    ['no object', '[]'],
    ['no JSON', '{'],
    ['a file that is not an object', { ...good, files: [file, 17] }],
    ['a request id that is a path', { ...good, jti: '../../etc' }],
    ['100,001 files', { ...good, files: Array(100_001).fill(file) }],
    ['part 0', { ...good, part: 0, parts: 2 }],
    ['part 3 of 2', { ...good, part: 3, parts: 2 }],
    ['21 parts, which are more than 2,000,000 files', { ...good, part: 1, parts: 21 }],
    ['a part of an unknown number', { ...good, part: 1 }],
    ['parts without its own number', { ...good, parts: 2 }],
    ['a size below 0', { ...good, files: [{ ...file, size: -1 }] }],
  ])('%s', async (_what, payload) => {
    expect(await refusal(signer.sign(payload))).not.toBe('accepted');
  });

  test.each([
    '../../.ssh/authorized_keys',
    '/etc/passwd',
    'a/b.c4gh',
    '.bashrc',
    '',
    'a\u0000.c4gh',
    'a\u202e.c4gh',
    `${'a'.repeat(252)}.c4gh`,
    `EGAD1-${requestId(1)}.delivery.jws`,
  ])('a file cannot have the name %j', async (name) => {
    expect(await refusal(signer.sign(receiptOf([{ ...file, name }])))).not.toBe('accepted');
  });
});

describe('a key set', () => {
  test('may hold other keys, which are not used', async () => {
    const others = [{ kty: 'RSA', kid: 'r' }, { ...signer.jwk, kid: 'enc', use: 'enc' }, null, 'x'];
    const set = await parseKeySet(JSON.stringify({ keys: [...others, signer.jwk] }), 'test');
    expect(set.fingerprints).toEqual([await calculateJwkThumbprint(signer.jwk)]);
    const enc = new ReceiptSigner('enc');
    await expect(verifyReceipt(enc.sign(good), set)).rejects.toMatchObject({
      code: 'not_verified',
      message: expect.stringContaining('not in the key set'),
    });
  });

  const { x, y } = signer.jwk;
  test.each([
    ['nothing', ''],
    ['no set', '{"kty":"EC"}'],
    ['no usable key', '{"keys":[{"kty":"RSA","kid":"r"}]}'],
    ['a key off the curve', JSON.stringify({ keys: [{ ...signer.jwk, x: `${String(x).slice(0, -2)}AA` }] })],
    ['a key whose coordinates are exchanged', JSON.stringify({ keys: [{ ...signer.jwk, x: y, y: x }] })],
  ])('is refused: %s', async (_what, text) => {
    await expect(async () => parseKeySet(text, '--keys')).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringContaining('--keys'),
    });
  });
});
