import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { checkOrder, fieldText } from '../../../../lib/client/admin-page/order.ts';
import type { ExportRequestBody } from '../../../../lib/client/admin-page/service.ts';
import { keyVector, vectorFile } from '../../../helpers/crypt4gh-vectors.ts';
import { unverifiedToken, visaClaims } from '../../../helpers/unverified-token.ts';

/** An hour before the visa expires. */
const now = new Date('2026-11-21T09:00:00Z');
const visa = unverifiedToken(visaClaims('EGAD00000000001'));
const publicKey = vectorFile('keys/alice.pub').toString();
const good: ExportRequestBody = { id: 'EGAD00000000001', type: 'datasetId', visaToken: visa, userPublicKey: publicKey };

const checked = (words: Partial<ExportRequestBody>, at = now) => {
  const result = checkOrder({ ...good, ...words }, at);
  if ('faults' in result) throw new Error(JSON.stringify(result.faults));
  return result;
};
const faults = (words: Partial<ExportRequestBody>, at = now) => {
  const result = checkOrder({ ...good, ...words }, at);
  return 'faults' in result ? result.faults.map(({ field, message }) => `${field} ${message}`) : [];
};

describe('an order that can be sent', () => {
  test('is sent as it was typed, without white space around it', () => {
    const { order } = checked({ id: ' EGAD00000000001 ', visaToken: `${visa}\n`, userPublicKey: `  ${publicKey}` });
    expect(order).toEqual({
      id: 'EGAD00000000001',
      type: 'datasetId',
      visaToken: visa,
      userPublicKey: publicKey.trim(),
    });
  });

  test('takes files as Windows PowerShell writes them, and a key that is not text', () => {
    const utf16 = (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le');
    expect(checked({ visaToken: fieldText(utf16(`${visa}\r\n`)) }).order.visaToken).toBe(visa);
    const raw = Buffer.from(keyVector('alice').public_key_hex ?? '', 'hex');
    for (const file of [raw, utf16(publicKey)]) {
      expect(Buffer.from(checked({ userPublicKey: fieldText(file) }).publicKey)).toEqual(raw);
    }
  });

  test('takes the visa for the dataset from the visas of a sign-in', () => {
    const other = unverifiedToken(visaClaims('EGAD00000000002'));
    const passport = JSON.stringify({ ga4gh_passport_v1: [other, visa] });
    expect(checked({ visaToken: passport }).order.visaToken).toBe(visa);
  });

  test('says what the visa says, and which key it is', () => {
    const { token, datasets, expires, doubts, publicKey: key } = checked({});
    expect(token.visas).toMatchObject([{ subject: 'jane', issuer: 'https://issuer.example.org/' }]);
    expect(datasets).toEqual(['EGAD00000000001']);
    expect(expires).toEqual(new Date('2026-11-21T10:00:00Z'));
    expect(Buffer.from(key).toString('hex')).toBe(keyVector('alice').public_key_hex);
    expect(doubts).toEqual([]);
  });

  test('warns of a visa that expired a moment ago, and of one that grants nothing', () => {
    const [doubt] = checked({}, new Date('2026-11-21T10:01:00Z')).doubts;
    expect(doubt).toContain('the visa expired at 2026-11-21T10:00:00.000Z, 1 min 00 s ago by this clock');
    const other = { type: 'AffiliationAndRole', value: 'faculty@example.org', source: 'https://example.org' };
    const grantsNothing = unverifiedToken(visaClaims('', { ga4gh_visa_v1: other }));
    expect(checked({ visaToken: grantsNothing }).doubts).toEqual(['the visa grants no dataset']);
  });
});

describe('an order that cannot be sent', () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey;
  const top = Buffer.from(keyVector('alice').public_key_hex!, 'hex');
  top[31] = 0xff;

  test.each<[string, Partial<ExportRequestBody>, RegExp]>([
    ['no identifier', { id: ' ' }, /^id give the id/],
    ['a control character', { id: 'EGAD1\u0000' }, /^id expected 1 to 256 characters/],
    ['a file as a dataset', { id: 'EGAF00000000001' }, /^id .*is the id of a file\. Choose the type File\.$/],
    ['no visa', { visaToken: '' }, /^visaToken paste/],
    ['a key instead of the visa', { visaToken: publicKey }, /^visaToken this is neither a GA4GH visa nor a passport/],
    [
      'another token',
      { visaToken: unverifiedToken({ iss: 'https://issuer.example.org/' }) },
      /^visaToken this is neither/,
    ],
    [
      'a file, and visas of several datasets',
      {
        ...{ id: 'EGAF00000000001', type: 'fileId' },
        visaToken: JSON.stringify({ ga4gh_passport_v1: [visa, unverifiedToken(visaClaims('EGAD2'))] }),
      },
      /^visaToken these visas are for several datasets/,
    ],
    ['no key', { userPublicKey: '' }, /^userPublicKey paste/],
    ['a visa instead of the key', { userPublicKey: visa }, /^userPublicKey expected a public key as PEM/],
    [
      'a key of another kind',
      { userPublicKey: rsa.export({ format: 'pem', type: 'spki' }).toString() },
      /^userPublicKey of the SPKI keys only X25519 can be used\. Ask the researcher/,
    ],
    [
      'a number that is not a key',
      { userPublicKey: top.toString('base64') },
      /^userPublicKey .*no private key has this public key/,
    ],
  ])('%s', (_, words, expected) => {
    expect(faults(words)).toEqual([expect.stringMatching(expected)]);
  });
});
