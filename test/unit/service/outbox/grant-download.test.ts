import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { outboxPrefix } from '../../../../lib/contract/outbox-key.ts';
import { unavailable } from '../../../../lib/errors.ts';
import { problemReply } from '../../../../lib/service/http/problem.ts';
import { type FileAccess, grantDownload } from '../../../../lib/service/outbox/grant-download.ts';
import { FakeOutboxReader } from '../../../helpers/fake-outbox-reader.ts';
import { httpRequest, type RequestParts } from '../../../helpers/http-request.ts';
import { type AccessWorld, accessWorld, requestTime } from '../../../helpers/recipient-access.ts';

const name = 'EGAF1-sample.bam.c4gh';
let world: AccessWorld;
let mine: string;
let outbox: FakeOutboxReader;
let served: FileAccess[];

beforeAll(async () => {
  world = await accessWorld();
  mine = outboxPrefix(world.subject('researcher-1'));
});
beforeEach(() => {
  outbox = new FakeOutboxReader();
  served = [];
  outbox.stage(mine, { name, size: 4096, etag: '"abc"', lastModified: new Date('2026-11-20T08:09:10Z') });
  outbox.stage(outboxPrefix(world.subject('researcher-2')), { name: 'theirs.c4gh' });
});

async function stream(file: string, parts: RequestParts = {}) {
  const request = httpRequest({
    headers: await world.headers(),
    authorizer: { isAdmitted: 'true' },
    pathParameters: { file },
    ...parts,
  });
  return await grantDownload(request, { rules: world.access.rules, outbox, served: (one) => served.push(one) });
}

test('GET leads to a presigned URL, which no cache may keep', async () => {
  expect(await stream(name)).toEqual({
    status: 307,
    headers: {
      Location: `https://bucket.example/${mine}/${name}?signature=s`,
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      'X-Frame-Options': 'DENY',
      'Cross-Origin-Resource-Policy': 'same-origin',
      'X-Request-Id': 'gateway-request',
    },
    body: '',
  });
});

test('HEAD says how large the file is, and signs nothing', async () => {
  const reply = await stream(name, { method: 'HEAD' });
  expect(reply).toMatchObject({
    status: 200,
    headers: {
      'Content-Type': 'application/octet-stream',
      'X-File-Size': '4096',
      'Content-Disposition': `attachment; filename="${name}"`,
      'Accept-Ranges': 'bytes',
      ETag: '"abc"',
      'Last-Modified': 'Fri, 20 Nov 2026 08:09:10 GMT',
    },
    body: '',
  });
  // API Gateway would count that of this reply, which is 0.
  expect(reply.headers).not.toHaveProperty('Content-Length');
  expect(outbox.signed).toEqual([]);
});

test('clients that cannot follow get the URL, its end and the size as JSON', async () => {
  const reply = await stream(name, { query: { redirect: 'false' } });
  expect(reply.status).toBe(200);
  expect(reply.headers).toMatchObject({ 'Cache-Control': 'no-store', 'Content-Type': 'application/json' });
  expect(reply.headers).not.toHaveProperty('Location');
  expect(JSON.parse(reply.body)).toEqual({
    url: `https://bucket.example/${mine}/${name}?signature=s`,
    expiresAt: '2026-11-21T10:15:00.000Z',
    size: 4096,
  });
});

test.each([
  ['as it is', name, {}],
  ['percent-encoded', 'EGAF1%2Dsample%2Ebam%2Ec4gh', {}],
  ['in fileName, which wins over the path', 'something+else', { fileName: name }],
  ['in the path beside an empty fileName', name, { fileName: '' }],
])('the name is found %s', async (_, file, query) => {
  expect((await stream(file, { query })).status).toBe(307);
});

test.each([
  ['a missing file', 'nothing.c4gh', {}],
  ['another recipient’s file', 'theirs.c4gh', {}],
  ['another recipient’s file by its key', `${'0'.repeat(64)}%2Ftheirs.c4gh`, {}],
  ['two dots', '..', {}],
  ['a way up', `..%2F${name}`, {}],
  ['an encoded slash', `%2F${name}`, {}],
  ['a NUL', `${name}%00`, {}],
  ['broken encoding', '%E0%A4%A', {}],
  ['a bad fileName beside a good path', name, { fileName: '../x' }],
  ['a fileName with a slash', name, { fileName: `${'0'.repeat(64)}/theirs.c4gh` }],
  ['a fileName that is encoded once more', 'x', { fileName: 'EGAF1%2Dsample.bam.c4gh' }],
])('one and the same 404 for %s', async (_, file, query) => {
  const error: unknown = await stream(file, { query }).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: 'not_found' });
  const reply = problemReply(error, 'gateway-request', 'Bearer');
  expect(reply.status).toBe(404);
  expect(JSON.parse(reply.body)).toEqual({
    type: 'about:blank',
    title: 'Not Found',
    status: 404,
    detail: 'there is no such file in your outbox: GET /files?inbox=false lists your files',
    code: 'not_found',
    requestId: 'gateway-request',
  });
  await expect(stream(file, { query, method: 'HEAD' })).rejects.toThrow(expect.objectContaining({ code: 'not_found' }));
  expect(outbox.signed).toEqual([]);
});

test.each([[{ redirect: 'no' }], [{ redirect: '' }], [{ redirect: ['true', 'false'] }], [{ fileName: [name, name] }]])(
  '%j is 400',
  async (query) => {
    await expect(stream(name, { query })).rejects.toThrow(expect.objectContaining({ code: 'invalid_request' }));
  },
);

test('an expired, a forged and a missing visa are 401, whatever the name', async () => {
  const expired = await world.headers({ exp: requestTime.getTime() / 1000 - 3600 });
  const forged = { 'X-GA4GH-Visa': await (await accessWorld()).issuer.visa() };
  for (const headers of [expired, forged, {}]) {
    for (const file of [name, 'nothing.c4gh', '..']) {
      await expect(stream(file, { headers })).rejects.toThrow(expect.objectContaining({ code: 'unauthenticated' }));
    }
  }
  expect(outbox.signed).toEqual([]);
});

test('a good visa is 401 when the authorizer has not admitted its holder', async () => {
  for (const method of ['GET', 'HEAD']) {
    await expect(stream(name, { method, authorizer: {} })).rejects.toThrow(
      expect.objectContaining({ code: 'unauthenticated' }),
    );
  }
  expect(outbox.signed).toEqual([]);
});

test('a passport opens the files of each of its identities', async () => {
  const visas = await Promise.all([world.issuer.visa(), world.issuer.visa({ sub: 'researcher-2' })]);
  const headers = { 'X-GA4GH-Visa': await world.issuer.passport(visas) };
  for (const file of [name, 'theirs.c4gh']) expect((await stream(file, { headers })).status).toBe(307);
});

test('S3 that is down is 503, not 404', async () => {
  outbox.failure = { atPage: 0, error: unavailable('S3') };
  await expect(stream(name)).rejects.toThrow(expect.objectContaining({ code: 'temporarily_unavailable' }));
});

describe('a grant is recorded', () => {
  const known = { requestId: 'gateway-request', fileName: name };

  test.each([
    ['GET', {}],
    ['GET', { redirect: 'false' }],
    ['HEAD', {}],
  ])('%s %o: with the file and its part of the outbox', async (method, query) => {
    await stream(name, { method, query });
    expect(served).toEqual([{ ...known, method, recipients: [mine] }]);
  });

  test('with the user of the central archive, never the password, the visa or the URL', async () => {
    await stream(name, { authorizer: { isAdmitted: 'true', archiveUser: 'ana@archive' } });
    expect(served).toEqual([{ ...known, method: 'GET', recipients: [mine], archiveUser: 'ana@archive' }]);
  });
});
