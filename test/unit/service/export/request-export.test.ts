import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { type DataOutError, isError, unavailable, type Violation } from '../../../../lib/errors.ts';
import { requestExport } from '../../../../lib/service/export/request-export.ts';
import { httpRequest, type RequestParts } from '../../../helpers/http-request.ts';
import { makeTestIssuer } from '../../../helpers/issuer.ts';
import { RecordingExportRequests } from '../../../helpers/recording-export-requests.ts';

const uuid = '0b9d7a52-5f6e-4c1a-9a39-0d2f3f1f2a11';
const now = new Date('2026-11-21T10:00:00.123Z');
const alicePem = readFileSync('test/vectors/keys/alice.pub', 'utf8');
/** The second line of a Crypt4GH key file is the base64 of the key itself. */
const alice = alicePem.split('\n')[1]!;
const valid = { id: 'EGAD00000000001', visaToken: 'not-even-a-token', userPublicKey: alicePem };

async function post(parts: RequestParts, requests = new RecordingExportRequests()) {
  const request = httpRequest({
    method: 'POST',
    path: '/export/fega',
    headers: { 'Content-Type': 'application/json' },
    authorizer: { isAdministrator: 'true' },
    ...parts,
  });
  const told: unknown[] = [];
  const reply = await requestExport(request, {
    archiveKind: 'fega',
    requests,
    newRequestId: () => uuid,
    clock: () => now,
    requested: (_, { requestId }) => told.push(requestId),
  });
  expect(told).toEqual([uuid]);
  return { reply, published: requests.published };
}

/** The violations of a request that must be refused and must not be published. */
async function violations(parts: RequestParts): Promise<readonly Violation[]> {
  const requests = new RecordingExportRequests();
  const error: unknown = await post(parts, requests).catch((reason: unknown) => reason);
  expect(requests.published).toEqual([]);
  if (!isError(error, 'invalid_request')) throw error ?? new Error('the request was accepted');
  return error.violations!;
}

const fields = async (parts: RequestParts) => (await violations(parts)).map(({ field }) => field);

test.each([[{ isAdministrator: 'false' }], [{}], [{ isAdmitted: 'true' }], [{ isAdministrator: 'TRUE' }]])(
  'without the role, as %o says, nothing is published',
  async (authorizer) => {
    const requests = new RecordingExportRequests();
    await expect(post({ body: valid, authorizer }, requests)).rejects.toThrow(
      expect.objectContaining({ code: 'forbidden' }),
    );
    // Also before the body is looked at.
    await expect(post({ body: '{', authorizer }, requests)).rejects.toThrow(
      expect.objectContaining({ code: 'forbidden' }),
    );
    expect(requests.published).toEqual([]);
  },
);

test('the visa is not inspected, one message is published and the answer is 200 at once', async () => {
  const { reply, published } = await post({ body: valid });
  expect(reply.status).toBe(200);
  expect(JSON.parse(reply.body)).toEqual({ message: expect.any(String), requestId: uuid });
  expect(reply.headers).toMatchObject({ 'X-Request-Id': 'gateway-request', 'Content-Type': 'application/json' });
  expect(published).toEqual([
    {
      requestId: uuid,
      requestedAt: now,
      archiveKind: 'fega',
      message: { jwtToken: 'not-even-a-token', publicKey: expect.any(String), datasetId: 'EGAD00000000001' },
    },
  ]);
});

test('a visa that will be rejected is answered 200 like any other', async () => {
  const issuer = await makeTestIssuer();
  const visa = await issuer.visa();
  const visas = [
    await issuer.visa({ exp: 1_600_000_000 }),
    await issuer.visa({ dataset: 'EGAD99999999999' }),
    `${visa.slice(0, -4)}AAAA`,
    visa.split('.')[0],
    '\n',
  ];
  for (const visaToken of visas) {
    const { reply, published } = await post({ body: { ...valid, visaToken } });
    expect(reply.status).toBe(200);
    expect(published.map(({ message }) => message.jwtToken)).toEqual([visaToken]);
  }
});

test('the key travels as Crypt4GH PEM, whatever form it came in', async () => {
  const spki = Buffer.concat([Buffer.from('302a300506032b656e032100', 'hex'), Buffer.from(alice, 'base64')]);
  const forms = [
    alicePem,
    alicePem.replaceAll('\n', ''),
    Buffer.from(alicePem).toString('base64'),
    alice,
    spki.toString('base64'),
    `-----BEGIN PUBLIC KEY-----\n${spki.toString('base64')}\n-----END PUBLIC KEY-----\n`,
  ];
  for (const userPublicKey of forms) {
    const { published } = await post({ body: { ...valid, userPublicKey } });
    expect(published[0]?.message.publicKey.trim().split('\n')).toEqual([
      '-----BEGIN CRYPT4GH PUBLIC KEY-----',
      alice,
      '-----END CRYPT4GH PUBLIC KEY-----',
    ]);
  }
});

test.each([
  [undefined, 'datasetId'],
  ['datasetId', 'datasetId'],
  ['DATASET_ID', 'datasetId'],
  ['fileId', 'fileId'],
  ['FILE_ID', 'fileId'],
])('type %j asks for a %s', async (type, member) => {
  const { published } = await post({ body: { ...valid, ...(type && { type }) } });
  expect(Object.keys(published[0]?.message ?? {}).sort()).toEqual(['jwtToken', 'publicKey', member].sort());
});

describe('refused with 400, and nothing published', () => {
  test.each([
    ['nothing', undefined, 'body'],
    ['no bytes', '', 'body'],
    ['text', 'hello', 'body'],
    ['half a document', '{"id":', 'body'],
    ['two documents', '{}{}', 'body'],
    ['bytes that are not UTF-8', Uint8Array.from([0x22, 0xff, 0x22]), 'body'],
    ['null', null, 'body'],
    ['an array', [valid], 'body'],
    ['a string', JSON.stringify('x'), 'body'],
    ['deeply nested arrays', '['.repeat(60_000), 'body'],
    ['more than 64 KiB', { ...valid, id: 'x'.repeat(64 * 1024) }, 'body'],
  ])('a body of %s', async (_, body, field) => {
    expect(await fields({ body })).toEqual([field]);
  });

  test.each([
    ['id', { id: undefined }],
    ['id', { id: 5 }],
    ['id', { id: null }],
    ['id', { id: {} }],
    ['id', { id: [] }],
    ['id', { id: '' }],
    ['id', { id: ' \t' }],
    ['id', { id: 'x'.repeat(257) }],
    ['id', { id: 'EGAD\u0000' }],
    ['id', { id: '\ud800' }],
    ['id', { id: '\uffff' }],
    ['type', { type: 'dataset' }],
    ['type', { type: '' }],
    ['type', { type: 1 }],
    ['type', { type: null }],
    ['visaToken', { visaToken: undefined }],
    ['visaToken', { visaToken: ['a.b.c'] }],
    ['visaToken', { visaToken: '' }],
    ['visaToken', { visaToken: 'x'.repeat(16_385) }],
    ['visaToken', { visaToken: 'a.b.\udc00' }],
    ['userPublicKey', { userPublicKey: undefined }],
    ['userPublicKey', { userPublicKey: true }],
    ['userPublicKey', { userPublicKey: '' }],
    ['userPublicKey', { userPublicKey: 'no key' }],
    ['userPublicKey', { userPublicKey: Buffer.alloc(31, 1).toString('base64') }],
    ['userPublicKey', { userPublicKey: Buffer.alloc(33, 1).toString('base64') }],
    ['userPublicKey', { userPublicKey: Buffer.alloc(32).toString('base64') }],
    // A point of order 8 (RFC 7748 § 6.1 warns of them): every sender would get the shared secret zero.
    [
      'userPublicKey',
      {
        userPublicKey: Buffer.from('e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800', 'hex').toString(
          'base64',
        ),
      },
    ],
    ['userPublicKey', { userPublicKey: readFileSync('test/vectors/keys/alice.sec', 'utf8') }],
    ['colour', { colour: 'red' }],
  ])('%s: %j', async (field, change) => {
    expect(await fields({ body: { ...valid, ...change } })).toEqual([field]);
  });

  test('a field that is called __proto__', async () => {
    expect(await fields({ body: `{"__proto__":{"id":"EGAD1"},${JSON.stringify(valid).slice(1)}` })).toEqual([
      '__proto__',
    ]);
  });

  test.each([
    ['text/plain'],
    ['application/jsonx'],
    ['application/x-www-form-urlencoded'],
    ['multipart/form-data; boundary=x'],
  ])('content type %s', async (type) => {
    expect(await fields({ body: valid, headers: { 'Content-Type': type } })).toEqual(['Content-Type']);
  });

  test('a private key is named, because it must be replaced; it is not repeated', async () => {
    const pem = readFileSync('test/vectors/keys/alice.sec', 'utf8');
    for (const userPublicKey of [pem, Buffer.from(pem).toString('base64')]) {
      const error = await post({ body: { ...valid, userPublicKey } }).catch((reason: Error) => reason);
      expect(error).toMatchObject({ code: 'invalid_request' });
      const { violations } = error as DataOutError;
      expect(violations).toEqual([
        {
          field: 'userPublicKey',
          message: expect.stringMatching(/^is a PRIVATE key: never send one; make a new pair/),
        },
      ]);
      expect(JSON.stringify(violations)).not.toContain(pem.split('\n')[1]);
    }
  });

  test('every violation is named, each with its field', async () => {
    const body = { type: 'x', visaToken: 1, userPublicKey: 'no key', colour: 'red', size: 1 };
    expect((await fields({ body })).sort()).toEqual(['colour', 'id', 'size', 'type', 'userPublicKey', 'visaToken']);
  });

  test('a visa that stands in the place of a field name or breaks the JSON is not repeated', async () => {
    const visa = `eyJhbGciOiJSUzI1NiJ9.${'x'.repeat(40)}.c2lnbmF0dXJl`;
    for (const body of [{ ...valid, [visa]: 1 }, `{"visaToken": ${visa}}`, visa, { ...valid, userPublicKey: visa }]) {
      expect(JSON.stringify(await violations({ body }))).not.toContain(visa);
    }
  });
});

test.each([
  [{ 'Content-Type': 'application/json; charset=utf-8' }],
  [{ 'content-type': 'APPLICATION/JSON' }],
  [{ 'Content-Type': 'application/json ;charset=utf-8' }],
  [{}],
])('%j is a content type of JSON', async (headers) => {
  expect((await post({ body: valid, headers })).reply.status).toBe(200);
});

test.each([
  [256, 1],
  [1, 16_384],
])('an id of %i and a visa of %i characters are within the limits', async (id, visa) => {
  const body = { ...valid, id: 'x'.repeat(id), visaToken: 'v'.repeat(visa) };
  expect((await post({ body })).published).toHaveLength(1);
});

test.each([['/export/gdi'], ['/export/FEGA'], ['/export/fega/'], ['/export/'], ['/export']])(
  'there is no kind at %s: 404, nothing published',
  async (path) => {
    const requests = new RecordingExportRequests();
    await expect(post({ body: valid, path }, requests)).rejects.toThrow(expect.objectContaining({ code: 'not_found' }));
    expect(requests.published).toEqual([]);
  },
);

test('a queue that does not take the message is not a 200', async () => {
  const requests = new RecordingExportRequests();
  requests.failure = unavailable('the queue');
  await expect(post({ body: valid }, requests)).rejects.toThrow(
    expect.objectContaining({ code: 'temporarily_unavailable' }),
  );
});

test('a body of 64 KiB full of unknown fields has a short answer', async () => {
  const body = { ...valid, ...Object.fromEntries(Array.from({ length: 4300 }, (_, at) => [`field-${at}`, 1])) };
  expect(Buffer.byteLength(JSON.stringify(body))).toBeGreaterThan(55_000);
  const told = await violations({ body });
  expect(told).toHaveLength(21);
  expect(told.at(-1)).toEqual({ field: 'request', message: '4280 more broken rules are not listed' });
  expect(Buffer.byteLength(JSON.stringify(told))).toBeLessThan(4096);
});
