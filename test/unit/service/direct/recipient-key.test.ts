import { describe, expect, test } from 'vitest';
import { isError } from '../../../../lib/errors.ts';
import { recipientKey, requestedRecipient, requiredRecipientKey } from '../../../../lib/service/direct/file-request.ts';
import { vectorFile } from '../../../helpers/crypt4gh-vectors.ts';
import { httpRequest, type RequestParts } from '../../../helpers/http-request.ts';

/** alice's public key, by the manifest of the vectors. test/unit/crypt4gh/keys has every form of a key, and every bad one. */
const alice = '314a62e623ac921d11b249d1e691f1640930ac26434cd48215e77428e3e5b84b';
const base64 = 'MUpi5iOskh0RsknR5pHxZAkwrCZDTNSCFed0KOPluEs=';
const pem = vectorFile('keys/alice.pub');
const crypt4gh = { destinationFormat: 'CRYPT4GH' };
const headerNames = ['Public-Key', 'X-C4GH-Public-Key', 'Htsget-Context-Public-Key', 'Client-Public-Key'];

const hex = (key: Uint8Array | undefined) => key && Buffer.from(key).toString('hex');

/** @returns the violations of a request that must be refused */
function violationsOf(parts: RequestParts, parse = requestedRecipient as (request: never) => unknown) {
  try {
    parse(httpRequest(parts) as never);
  } catch (error) {
    if (isError(error, 'invalid_request')) return error.violations!;
    throw error;
  }
  return [];
}
const fieldsOf = (...sent: Parameters<typeof violationsOf>) => violationsOf(...sent).map(({ field }) => field);

describe('the key', () => {
  test.each([...headerNames, 'public-key'])('comes in %s', (name) => {
    expect(hex(requestedRecipient(httpRequest({ headers: { [name]: base64 }, query: crypt4gh })))).toBe(alice);
  });

  test.each([
    ['Crypt4GH PEM without line breaks', pem.toString().replaceAll('\n', '')],
    ['base64 of Crypt4GH PEM', pem.toString('base64')],
    ['white space around it', `  ${base64}\t`],
  ])('may be %s', (_, value) => {
    expect(hex(recipientKey(httpRequest({ headers: { 'Public-Key': value } })))).toBe(alice);
  });

  test.each([
    ['nothing', ''],
    ['words', 'not a key'],
    ['all zero', Buffer.alloc(32).toString('base64')],
    ['a private key', vectorFile('keys/alice.sec').toString('base64')],
    ['a list of two', `${base64}, ${base64}`],
  ])('is not %s, and the refusal does not repeat it', (_, value) => {
    for (const name of headerNames) {
      const violations = violationsOf({ headers: { [name]: value }, query: crypt4gh });
      expect(violations.map(({ field }) => field)).toEqual([name]);
      if (value) expect(JSON.stringify(violations)).not.toContain(value);
    }
  });
});

test.each([{}, { destinationFormat: 'plain' }, { destinationFormat: 'PLAIN' }])(
  '%j without a key means the plaintext',
  (query) => {
    expect(requestedRecipient(httpRequest({ query }))).toBeUndefined();
  },
);

test('another format is refused with those that exist', () => {
  const message = 'must be CRYPT4GH or plain; the default is plain';
  expect(violationsOf({ query: { destinationFormat: 'zip' } })).toEqual([{ field: 'destinationFormat', message }]);
});

const key = { 'Public-Key': base64 };

test('a missing key is refused with the header to send', () => {
  expect(fieldsOf({}, requiredRecipientKey as (request: never) => unknown)).toEqual(['Public-Key']);
  expect(hex(requiredRecipientKey(httpRequest({ headers: key })))).toBe(alice);
});
