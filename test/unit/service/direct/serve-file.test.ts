import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ServedFile } from '../../../../lib/service/direct/access.ts';
import { type FileEndpoint, serveFile } from '../../../../lib/service/direct/serve-file.ts';
import type { ReplyBody } from '../../../../lib/service/http/reply.ts';
import { collect, generatedPlaintext } from '../../../helpers/crypt4gh-vectors.ts';
import { ExportWorld, vector, vectorKey } from '../../../helpers/export-world.ts';
import { FakeDirectUrls } from '../../../helpers/fake-direct-urls.ts';
import { httpRequest, type RequestParts } from '../../../helpers/http-request.ts';
import { makeTestIssuer, rulesOf, type TestIssuer } from '../../../helpers/issuer.ts';
import { readPlainly } from '../../../helpers/plain-crypt4gh.ts';

const now = new Date('2026-11-21T07:00:00Z');
/** Of `edit/body.bin`. */
const plaintext = generatedPlaintext('vectors/edit-body', 200_000);
const bob = vectorKey('bob');
const publicKey = Buffer.from(bob.publicKey).toString('base64');

let issuer: TestIssuer;
let visa: string;
let world: ExportWorld;
let urls: FakeDirectUrls;
let served: ServedFile[];
beforeAll(async () => {
  issuer = await makeTestIssuer();
  visa = await issuer.visa({ dataset: 'EGAD1' });
});
beforeEach(() => {
  world = new ExportWorld();
  urls = new FakeDirectUrls(() => now);
  served = [];
  for (const fileId of ['EGAF1', 'EGAF2', 'EGAF3']) {
    world.addFile(fileId, vector('edit/body.bin'), `run/${fileId}.bam.c4gh`);
    world.catalogue.files.set(fileId, {
      ...world.catalogue.files.get(fileId)!,
      header: vector('edit/plain.header.bin'),
    });
  }
  world.catalogue.addDataset('EGAD1', { released: true, fileIds: ['EGAF1'] });
  world.catalogue.addDataset('EGAD2', { released: true, fileIds: ['EGAF2'] });
  world.catalogue.addDataset('EGAD3', { released: false, fileIds: ['EGAF3'] });
});

function endpoint(): FileEndpoint {
  const { catalogue, archive, outbox, archiveKeys } = world.direct;
  const rules = rulesOf(issuer, () => now);
  return { rules, catalogue, archive, outbox, archiveKeys, urls, now: () => now, served: (file) => served.push(file) };
}

function get({ headers = {}, ...parts }: RequestParts = {}, token = visa) {
  const request = httpRequest({
    pathParameters: { fileId: 'EGAF1' },
    headers: { Authorization: `Bearer ${token}`, ...headers },
    ...parts,
  });
  return serveFile(request, endpoint(), { remainingMs: () => 300_000 });
}

const bytesOf = (body: ReplyBody) => collect(body as AsyncIterable<Uint8Array>);
const crypt4gh = { destinationFormat: 'CRYPT4GH' };

test('the plaintext is what a visa alone gives, and its recipient is recorded when it has gone out', async () => {
  const { status, headers, body } = await get();
  expect([status, headers['Content-Length']]).toEqual([200, '200000']);
  expect(headers['Content-Disposition']).toBe('attachment; filename="EGAF1.bam"');
  expect(served).toEqual([]);
  expect((await bytesOf(body)).equals(plaintext)).toBe(true);
  const file = { requestId: 'gateway-request', fileId: 'EGAF1', datasetId: 'EGAD1', kind: 'plaintext' };
  expect(served).toEqual([{ ...file, status: 200, bytes: 200_000, promised: 200_000 }]);
});

test('a container for a key is one that this key opens', async () => {
  const { status, headers, body } = await get({ query: crypt4gh, headers: { 'Public-Key': publicKey } });
  // Header of 16 + 108 bytes, and the body.
  expect([status, headers['Content-Length']]).toEqual([200, String(124 + 200_112)]);
  expect(headers['Content-Disposition']).toBe('attachment; filename="EGAF1-EGAF1.bam.c4gh"');
  expect(readPlainly(await bytesOf(body), bob.privateKey).equals(plaintext)).toBe(true);
  expect(served).toMatchObject([{ kind: 'container', bytes: 200_236 }]);
});

describe('a container too large to be streamed', () => {
  // At most six million bytes are streamed. No code here opens the segments.
  const body = Buffer.alloc(92 * 65_564, 7);
  const asked = { query: crypt4gh, headers: { 'Public-Key': publicKey } };
  beforeEach(() => {
    world.archive.set('bodies/EGAF1', body);
    world.catalogue.files.set('EGAF1', { ...world.catalogue.files.get('EGAF1')!, archiveFileSize: body.length });
  });

  test('is made inside S3: GET is sent there, HEAD needs nothing of it', async () => {
    const size = String(124 + body.length);
    const head = await get({ ...asked, method: 'HEAD' });
    expect(head).toMatchObject({ status: 200, headers: { 'Content-Length': size } });
    expect(urls.signed).toEqual([]);

    const reply = await get(asked);
    expect(reply).toMatchObject({ status: 307, body: '', headers: { 'Cache-Control': 'no-store' } });
    expect(reply.headers.Location).toMatch(/^https:\/\/s3\.example\/outbox\/direct\/[0-9a-f]{64}\/EGAF1-EGAF1\.bam/);
    expect(served.at(-1)).toMatchObject({ kind: 'container', status: 307, bytes: 0, promised: Number(size) });

    const told = await get({ ...asked, query: { ...crypt4gh, redirect: 'false' } });
    expect(told.status).toBe(200);
    expect(JSON.parse(String(told.body))).toEqual({
      url: reply.headers.Location,
      expiresAt: '2026-11-21T07:15:00.000Z',
      size: Number(size),
    });
  });

  test('is not made for a caller that has it already', async () => {
    const etag = (await get({ ...asked, method: 'HEAD' })).headers.ETag ?? '';
    const headers = { ...asked.headers, 'If-None-Match': etag };
    expect(await get({ ...asked, headers })).toMatchObject({ status: 304, body: '' });
    expect(urls.signed).toEqual([]);
    expect(served.at(-1)).toMatchObject({ status: 304, bytes: 0 });
  });
});

test('a malformed or expired visa is refused, before the database is asked', async () => {
  const expired = await issuer.visa({ dataset: 'EGAD1', exp: now.getTime() / 1000 - 3600 });
  for (const token of ['x.y.z', expired])
    await expect(get({}, token)).rejects.toMatchObject({ code: 'unauthenticated' });
  expect(world.calls.names).toEqual([]);
});

test('damage is reported with the id of the file', async () => {
  world.archive.set('bodies/EGAF1', Buffer.alloc(100));
  const damage = { code: 'archive_damaged', message: expect.stringMatching(/^file EGAF1: /) };
  await expect(get()).rejects.toMatchObject(damage);
});

describe('a name behind the id', () => {
  const named = (name: string, fileId = 'EGAF1') => get({ pathParameters: { fileId, name } });
  const submit = (submissionFilePath: string) => {
    const file = world.catalogue.files.get('EGAF1')!;
    world.catalogue.files.set('EGAF1', { ...file, submissionFilePath });
  };

  test('that is the file’s own serves the same bytes', async () => {
    const whole = await get();
    for (const name of ['EGAF1.bam', 'EGAF1.bam.c4gh']) {
      const reply = await named(name);
      expect([reply.status, reply.headers.ETag]).toEqual([200, whole.headers.ETag]);
    }
  });

  test('may come with or without its percent-encoding', async () => {
    submit('a/räw %41.bam');
    for (const name of ['räw %41.bam', 'r%C3%A4w%20%2541.bam']) expect((await named(name)).status).toBe(200);
    submit('a/what?.bam');
    for (const name of ['what%3F.bam', 'what_.bam']) expect((await named(name)).status).toBe(200);
  });

  test.each(['EGAF1.bam.bai', 'egaf1.bam', 'EGAF1', 'run', 'run%2FEGAF1.bam', '', '..', 'räw A.bam'])(
    'that is another, %j, is not found, and nothing is read',
    async (name) => {
      await expect(named(name)).rejects.toThrow(expect.objectContaining({ code: 'not_found' }));
      expect(world.archive.bytesRead).toBe(0);
    },
  );

  test('tells nothing of a file that the caller may not have', async () => {
    for (const name of ['EGAF2.bam', 'x'])
      await expect(named(name, 'EGAF2')).rejects.toThrow(expect.objectContaining({ code: 'forbidden' }));
  });
});
