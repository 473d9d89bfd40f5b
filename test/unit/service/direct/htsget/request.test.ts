import { describe, expect, test } from 'vitest';
import { generateKeyPair } from '../../../../../lib/crypt4gh/index.ts';
import { isError } from '../../../../../lib/errors.ts';
import { ticketRequest } from '../../../../../lib/service/direct/htsget/request.ts';
import { httpRequest } from '../../../../helpers/http-request.ts';

const { publicKey } = generateKeyPair();
const key = Buffer.from(publicKey).toString('base64');
const get = (query: Record<string, string | string[]>, headers: Record<string, string> = {}) =>
  ticketRequest(httpRequest({ query, headers }), 'reads');
const post = (body: unknown, headers: Record<string, string> = {}, query: Record<string, string> = {}) =>
  ticketRequest(httpRequest({ method: 'POST', body, headers, query }), 'variants');
const whole = { format: undefined, headerOnly: false, regions: undefined, recipient: undefined, withRange: false };

describe('a GET', () => {
  test.each<[Record<string, string>, object]>([
    [{}, {}],
    [{ format: 'cram', fields: 'QNAME', tags: 'NM', notags: 'MD', unknown: '1' }, { format: 'CRAM' }],
    [{ referenceName: 'one' }, { regions: [{ referenceName: 'one' }] }],
    [
      { referenceName: 'one', start: '0', end: '4294967295' },
      { regions: [{ referenceName: 'one', start: 0, end: 4294967295 }] },
    ],
    [{ referenceName: 'one', start: '5', end: '5' }, { regions: [{ referenceName: 'one', start: 5, end: 5 }] }],
    [{ referenceName: '*' }, { regions: [{ referenceName: '*' }] }],
    // @gmod/bam asks so.
    [{ class: 'header', referenceName: 'na' }, { headerOnly: true }],
    [{ class: 'header', start: '1' }, { headerOnly: true }],
  ])('%j', (query, expected) => {
    expect(get(query)).toEqual({ ...whole, ...expected });
  });

  test.each<[Record<string, string | string[]>, string[]]>([
    [{ start: '1', end: '2' }, ['start', 'end']],
    [{ referenceName: 'one', start: '-1', end: '4294967296' }, ['start', 'end']],
    [{ referenceName: 'one', start: '1e3' }, ['start']],
    [{ referenceName: '' }, ['referenceName']],
    [{ referenceName: '*', start: '0' }, ['start']],
    [{ referenceName: ['one', 'two'] }, ['referenceName']],
    [{ class: 'body' }, ['class']],
    [{ tags: 'NM,MD', notags: 'MD' }, ['notags']],
    [{ encryptionScheme: 'aes' }, ['encryptionScheme']],
    [{ encryptionScheme: 'crypt4gh' }, ['Public-Key']],
  ])('that breaks rules names each: %j', (query, fields) => {
    expect(fieldsOf(() => get(query))).toEqual(fields);
  });

  test('for a format that nobody serves is UnsupportedFormat', () => {
    expect(() => get({ format: 'SAM' })).toThrow(expect.objectContaining({ code: 'unsupported_format' }));
  });

  test('with a region that ends before it starts is InvalidRange', () => {
    expect(() => get({ referenceName: 'one', start: '2', end: '1' })).toThrow(
      expect.objectContaining({ code: 'invalid_range' }),
    );
  });
});

describe('the key of the encrypted form', () => {
  test.each(['Public-Key', 'X-C4GH-Public-Key', 'Htsget-Context-Public-Key'])('may come in %s', (name) => {
    for (const query of [{}, { encryptionScheme: 'Crypt4GH' }, { encryptionScheme: 'C4GH' }]) {
      expect(get(query, { [name]: key })).toEqual({ ...whole, recipient: Uint8Array.from(publicKey) });
    }
  });

  test('in Client-Public-Key also asks for ranges', () => {
    expect(get({}, { 'Client-Public-Key': key })).toMatchObject({
      recipient: Uint8Array.from(publicKey),
      withRange: true,
    });
  });

  test('in two headers, or not usable, is refused', () => {
    expect(fieldsOf(() => get({}, { 'Public-Key': key, 'Client-Public-Key': key }))).toEqual([
      'Public-Key',
      'Client-Public-Key',
    ]);
    expect(fieldsOf(() => get({}, { 'Public-Key': 'x' }))).toEqual(['Public-Key']);
  });
});

describe('a POST', () => {
  test.each<[unknown, object]>([
    [{}, {}],
    [{ regions: [] }, {}],
    [
      {
        format: 'BCF',
        regions: [
          { referenceName: 'one', start: 1, more: 1 },
          { referenceName: 'two', end: 2 },
        ],
      },
      {
        format: 'BCF',
        regions: [
          { referenceName: 'one', start: 1 },
          { referenceName: 'two', end: 2 },
        ],
      },
    ],
    [{ class: 'header', regions: [{ referenceName: 'one' }], fields: ['QNAME'], tags: 'NM' }, { headerOnly: true }],
  ])('%j', (body, expected) => {
    expect(post(body)).toEqual({ ...whole, ...expected });
  });

  test.each<[unknown, string[]]>([
    [[], ['body']],
    [{ regions: {} }, ['regions']],
    [{ regions: [{}, { referenceName: 1 }] }, ['regions.0.referenceName', 'regions.1.referenceName']],
    [{ regions: [{ referenceName: 'one', start: 1.5, end: '2' }] }, ['regions.0.start', 'regions.0.end']],
    [{ regions: [{ referenceName: '*', end: 5 }] }, ['regions.0.start']],
    ['{', ['body']],
  ])('that breaks rules names each: %j', (body, fields) => {
    expect(fieldsOf(() => post(body))).toEqual(fields);
  });

  test('with parameters in the query is refused rather than answered with more than was asked for', () => {
    expect(fieldsOf(() => post({}, {}, { referenceName: 'one', start: '1' }))).toEqual(['referenceName', 'start']);
  });

  test('of 1,000 regions and 1,000,000 bytes is taken, and not of one more', () => {
    const region = { referenceName: 'one' };
    expect(post({ regions: Array(1000).fill(region) }).regions).toHaveLength(1000);
    expect(() => post({ regions: Array(1001).fill(region) })).toThrow(
      expect.objectContaining({ code: 'request_too_large' }),
    );
    const body = (bytes: number) => JSON.stringify({ fields: 'x'.repeat(bytes - 13) });
    expect(post(body(1_000_000))).toEqual(whole);
    expect(() => post(body(1_000_001))).toThrow(expect.objectContaining({ code: 'request_too_large' }));
  });
});

function fieldsOf(read: () => unknown): string[] {
  try {
    read();
  } catch (error) {
    if (isError(error, 'invalid_request')) return error.violations!.map(({ field }) => field);
    throw error;
  }
  throw new Error('nothing was refused');
}
