import { describe, expect, test } from 'vitest';
import { isError, type Violation } from '../../../../lib/errors.ts';
import { recipientKey, requestedRecipient, requiredRecipientKey } from '../../../../lib/service/direct/file-request.ts';
import { vectorFile } from '../../../helpers/crypt4gh-vectors.ts';
import { httpRequest, type RequestParts } from '../../../helpers/http-request.ts';

/** alice's public key, by the manifest of the vectors. */
const alice = '314a62e623ac921d11b249d1e691f1640930ac26434cd48215e77428e3e5b84b';
const base64 = 'MUpi5iOskh0RsknR5pHxZAkwrCZDTNSCFed0KOPluEs=';
const pem = vectorFile('keys/alice.pub');
const crypt4gh = { destinationFormat: 'CRYPT4GH' };

const hex = (key: Uint8Array | undefined) => key && Buffer.from(key).toString('hex');

function violationsOf(parts: RequestParts, parse: (request: ReturnType<typeof httpRequest>) => unknown) {
  try {
    parse(httpRequest(parts));
  } catch (error) {
    if (isError(error, 'invalid_request')) return error.violations!;
    throw error;
  }
  return [];
}
const fieldsOf = (violations: readonly Violation[]) => violations.map(({ field }) => field);

describe('the key', () => {
  test.each(['Public-Key', 'X-C4GH-Public-Key', 'Htsget-Context-Public-Key', 'public-key'])('comes in %s', (name) => {
    expect(hex(requestedRecipient(httpRequest({ headers: { [name]: base64 }, query: crypt4gh })))).toBe(alice);
  });

  test.each([
    ['base64 of the 32 bytes', base64],
    ['base64 of them without padding', base64.slice(0, -1)],
    ['Crypt4GH PEM without line breaks', pem.toString().replaceAll('\n', '')],
    ['base64 of Crypt4GH PEM', pem.toString('base64')],
    ['X25519 SPKI', Buffer.from(`302a300506032b656e032100${alice}`, 'hex').toString('base64')],
    [
      'X25519 SPKI as PEM without line breaks',
      `-----BEGIN PUBLIC KEY-----${Buffer.from(`302a300506032b656e032100${alice}`, 'hex').toString('base64')}-----END PUBLIC KEY-----`,
    ],
    ['white space around it', `  ${base64}\t`],
  ])('may be %s', (_, value) => {
    expect(hex(recipientKey(httpRequest({ headers: { 'Public-Key': value } })))).toBe(alice);
  });

  test('may be an OpenSSH line', () => {
    const line = vectorFile('keys/ssh_plain.pub').toString().trim();
    // By the manifest, for ssh_plain.
    expect(hex(recipientKey(httpRequest({ headers: { 'Public-Key': line } })))).toBe(
      '50d453df00a8920a587e7a85fc48fb512bacf94eb5bf72afd98021827e63434c',
    );
  });

  test.each([
    ['nothing', ''],
    ['words', 'not a key'],
    ['31 bytes', Buffer.alloc(31, 9).toString('base64')],
    ['all zero', Buffer.alloc(32).toString('base64')],
    ['one', Buffer.from('01'.padEnd(64, '0'), 'hex').toString('base64')],
    [
      'a point of order 8',
      Buffer.from('e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800', 'hex').toString('base64'),
    ],
    [
      'p - 1',
      Buffer.from('ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f', 'hex').toString('base64'),
    ],
    [
      'p, which is zero',
      Buffer.from('edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f', 'hex').toString('base64'),
    ],
    ['a private key', vectorFile('keys/alice.sec').toString('base64')],
    ['a list of two', `${base64}, ${base64}`],
  ])('is not %s', (_, value) => {
    for (const name of ['Public-Key', 'X-C4GH-Public-Key', 'Htsget-Context-Public-Key']) {
      const violations = violationsOf({ headers: { [name]: value }, query: crypt4gh }, requestedRecipient);
      expect(fieldsOf(violations)).toEqual([name]);
      if (value) expect(JSON.stringify(violations)).not.toContain(value);
    }
  });

  test('is given in one header only, once', () => {
    const both = { 'Public-Key': base64, 'X-C4GH-Public-Key': base64 };
    expect(fieldsOf(violationsOf({ headers: both, query: crypt4gh }, requestedRecipient))).toEqual([
      'Public-Key',
      'X-C4GH-Public-Key',
    ]);
    const twice = { 'Htsget-Context-Public-Key': [base64, base64] };
    expect(fieldsOf(violationsOf({ headers: twice, query: crypt4gh }, requestedRecipient))).toEqual([
      'Htsget-Context-Public-Key',
    ]);
    const withAnEmptyOne = { 'Public-Key': base64, 'X-C4GH-Public-Key': '' };
    expect(fieldsOf(violationsOf({ headers: withAnEmptyOne, query: crypt4gh }, requestedRecipient))).toHaveLength(2);
  });
});

describe('the format', () => {
  test('without format and key means the plaintext', () => {
    expect(requestedRecipient(httpRequest())).toBeUndefined();
  });

  test.each(['CRYPT4GH', 'crypt4gh', 'Crypt4GH'])('is %s in any case of letters', (destinationFormat) => {
    const request = httpRequest({ headers: { 'Public-Key': base64 }, query: { destinationFormat } });
    expect(hex(requestedRecipient(request))).toBe(alice);
  });

  test.each(['', 'PLAIN', 'AES256', 'CRYPT4GH ', 'crypt4gh2'])('is not "%s", with or without a key', (value) => {
    const query = { destinationFormat: value };
    for (const headers of [{}, { 'Public-Key': base64 }]) {
      expect(fieldsOf(violationsOf({ headers, query }, requestedRecipient))).toEqual(['destinationFormat']);
    }
  });

  test('is given once', () => {
    const query = { destinationFormat: ['CRYPT4GH', 'CRYPT4GH'] };
    expect(fieldsOf(violationsOf({ headers: { 'Public-Key': base64 }, query }, requestedRecipient))).toEqual([
      'destinationFormat',
    ]);
  });

  test('CRYPT4GH without a key has no reader', () => {
    expect(fieldsOf(violationsOf({ query: crypt4gh }, requestedRecipient))).toEqual(['Public-Key']);
  });

  test('a key without CRYPT4GH is not answered with a plaintext', () => {
    for (const name of ['Public-Key', 'X-C4GH-Public-Key', 'Htsget-Context-Public-Key']) {
      expect(fieldsOf(violationsOf({ headers: { [name]: base64 } }, requestedRecipient))).toEqual([
        'destinationFormat',
      ]);
    }
  });

  test('every broken rule is named at once', () => {
    const parts = { headers: { 'X-C4GH-Public-Key': 'x' }, query: { destinationFormat: 'PLAIN' } };
    expect(fieldsOf(violationsOf(parts, requestedRecipient))).toEqual(['X-C4GH-Public-Key', 'destinationFormat']);
  });
});

test('a missing key is refused with the header to send', () => {
  expect(fieldsOf(violationsOf({}, requiredRecipientKey))).toEqual(['Public-Key']);
  expect(hex(requiredRecipientKey(httpRequest({ headers: { 'Public-Key': base64 } })))).toBe(alice);
});
