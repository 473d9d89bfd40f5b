import { createHash, generateKeyPairSync, sign, verify } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { joseSignature } from '../../../../lib/service/stores/receipt-signer.ts';

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');

describe('a signature in DER becomes 64 bytes', () => {
  // r and s: RFC 6979 § A.2.5, SHA-256 of "sample" and of "test".
  const sample = [
    'efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716',
    'f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8',
  ] as const;
  const testMessage = [
    'f1abb023518351cd71d881567b1ea663ed3efcf6c5132b354f28d3b0b7d38367',
    '019f4113742a2b14bd25926b49c649155f267e60d3814b4c0cc84250e46f0083',
  ] as const;
  const zeros = (count: number) => '00'.repeat(count);

  test.each([
    ['two integers with a sign byte', `3046 0221 00${sample[0]} 0221 00${sample[1]}`, sample.join('')],
    ['one of them without', `3045 0221 00${testMessage[0]} 0220 ${testMessage[1]}`, testMessage.join('')],
    ['the shortest', '3006 020101 020102', `${zeros(31)}01${zeros(31)}02`],
    ['short ones with a sign byte', '3008 02020080 020200ff', `${zeros(31)}80${zeros(31)}ff`],
  ])('%s', (_, der, expected) => {
    expect(Buffer.from(joseSignature(hex(der))).toString('hex')).toBe(expected);
  });

  test('as OpenSSL gives both forms', () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (message) => {
        const raw = joseSignature(sign('sha256', message, privateKey));
        expect(raw).toHaveLength(64);
        expect(verify('sha256', message, { key: publicKey, dsaEncoding: 'ieee-p1363' }, raw)).toBe(true);
      }),
    );
  });
});

describe('refused', () => {
  test.each([
    ['a length in its long form', '308106 020101 020102'],
    ['an indefinite length', '3080 020101 020102 0000'],
    ['a length that is too long', '3007 020101 020102'],
    ['bytes behind the end', '3006 020101 020102 00'],
    ['one integer', '3003 020101'],
    ['another tag of s', '3006 020101 040102'],
    ['an integer that goes past the end', '3006 020101 020202'],
    ['a negative r', '3006 020180 020102'],
    ['r with a zero byte too many', '3007 02020001 020102'],
    ['zero', '3006 020100 020102'],
    ['s of 33 bytes with a sign byte', `3027 020101 0222 00${'ff'.repeat(33)}`],
  ])('%s', (_, der) => {
    expect(() => joseSignature(hex(der))).toThrow(TypeError);
  });

  test('any cut of a signature, and one that has a byte more', () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const der = sign('sha256', createHash('sha256').digest(), privateKey);
    for (let length = 0; length < der.length; length += 1) {
      expect(() => joseSignature(der.subarray(0, length))).toThrow(TypeError);
    }
    expect(() => joseSignature(Buffer.concat([der, Buffer.of(0)]))).toThrow(TypeError);
  });
});
