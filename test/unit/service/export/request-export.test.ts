import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { type DataOutError, isError, type Violation } from '../../../../lib/errors.ts';
import { requestExport } from '../../../../lib/service/export/request-export.ts';
import { httpRequest, type RequestParts } from '../../../helpers/http-request.ts';
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

  test('a visa that stands in the place of a field name or breaks the JSON is not repeated', async () => {
    const visa = `eyJhbGciOiJSUzI1NiJ9.${'x'.repeat(40)}.c2lnbmF0dXJl`;
    for (const body of [{ ...valid, [visa]: 1 }, `{"visaToken": ${visa}}`, visa, { ...valid, userPublicKey: visa }]) {
      expect(JSON.stringify(await violations({ body }))).not.toContain(visa);
    }
  });
});

test.each([
  [256, 1],
  [1, 16_384],
])('an id of %i and a visa of %i characters are within the limits', async (id, visa) => {
  const body = { ...valid, id: 'x'.repeat(id), visaToken: 'v'.repeat(visa) };
  expect((await post({ body })).published).toHaveLength(1);
});

test.each([['/export/gdi'], ['/export/FEGA']])('there is no kind at %s: 404, nothing published', async (path) => {
  const requests = new RecordingExportRequests();
  await expect(post({ body: valid, path }, requests)).rejects.toThrow(expect.objectContaining({ code: 'not_found' }));
  expect(requests.published).toEqual([]);
});
