import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ServedFile } from '../../../../lib/service/direct/access.ts';
import {
  type ContentEndpoint,
  type HeaderEndpoint,
  serveContent,
  serveHeader,
} from '../../../../lib/service/direct/serve-file.ts';
import type { HttpReply, ReplyBody } from '../../../../lib/service/http/reply.ts';
import type { HttpRequest } from '../../../../lib/service/http/request.ts';
import { collect, generatedPlaintext } from '../../../helpers/crypt4gh-vectors.ts';
import { ExportWorld, vector, vectorKey } from '../../../helpers/export-world.ts';
import { FakeDirectUrls } from '../../../helpers/fake-direct-urls.ts';
import { httpRequest, type RequestParts } from '../../../helpers/http-request.ts';
import { makeTestIssuer, rulesOf, type TestIssuer } from '../../../helpers/issuer.ts';
import { readPlainly } from '../../../helpers/plain-crypt4gh.ts';

const bob = vectorKey('bob');
const key = { 'Public-Key': Buffer.from(bob.publicKey).toString('base64') };
const common = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'X-Request-Id': 'gateway-request',
};

let issuer: TestIssuer;
let world: ExportWorld;
let urls: FakeDirectUrls;
let served: ServedFile[];

beforeAll(async () => {
  issuer = await makeTestIssuer({ entry: { datasetIdFrom: 'value' } });
});
beforeEach(() => {
  world = new ExportWorld();
  world.catalogue.addDataset('EGAD1', { released: true, fileIds: ['EGAF1'] });
  world.catalogue.addDataset('EGAD2', { released: true, fileIds: ['EGAF2'] });
  world.addFile('EGAF1', vector('split/body.bin'), 'run 7/sample.bam');
  world.addFile('EGAF2', vector('split/body.bin'));
  urls = new FakeDirectUrls(() => world.outbox.now);
  served = [];
});

type Half = (request: HttpRequest, endpoint: HeaderEndpoint & ContentEndpoint) => Promise<HttpReply<ReplyBody>>;

async function ask(half: Half, fileId: string, parts: RequestParts = {}): Promise<HttpReply<ReplyBody>> {
  const headers = { Authorization: `Bearer ${await issuer.visa({ dataset: 'EGAD1' })}`, ...parts.headers };
  const request = httpRequest({ ...parts, headers, pathParameters: { fileId } });
  return half(request, {
    ...world.direct,
    rules: rulesOf(issuer, () => world.outbox.now),
    urls,
    served: (file) => served.push(file),
  });
}

async function bytesOf({ body }: HttpReply<ReplyBody>): Promise<Buffer> {
  if (typeof body === 'string') return Buffer.from(body);
  return collect(body as AsyncIterable<Uint8Array>);
}

test('the header comes alone, with its length and a strong tag; before the content it opens with the key', async () => {
  const reply = await ask(serveHeader, 'EGAF1', { headers: key });
  expect(reply.status).toBe(200);
  expect(reply.headers).toMatchObject({
    ...common,
    'Content-Type': 'application/octet-stream',
    'Content-Length': '124',
    'Content-Disposition': 'attachment; filename="EGAF1-sample.bam.header"',
    'Accept-Ranges': 'bytes',
  });
  expect(reply.headers.ETag).toMatch(/^"[0-9a-f]{64}"$/);
  const container = Buffer.concat([await bytesOf(reply), vector('split/body.bin')]);
  const expected = generatedPlaintext('vectors/pos-07-header-apart', 66_001);
  expect(readPlainly(container, bob.privateKey).equals(expected)).toBe(true);
  expect(world.archive.bytesRead).toBe(0);
  expect(served).toEqual([
    {
      requestId: 'gateway-request',
      fileId: 'EGAF1',
      datasetId: 'EGAD1',
      kind: 'header',
      status: 200,
      bytes: 124,
      promised: 124,
    },
  ]);
});

describe('the content', () => {
  test('is the stored object, by a redirection that no cache keeps', async () => {
    expect(await ask(serveContent, 'EGAF1')).toEqual({
      status: 307,
      headers: { ...common, ETag: '"archive-1"', Location: 'https://s3.example/archive/bodies/EGAF1?signature=s' },
      body: '',
    });
    expect(served).toMatchObject([
      { kind: 'content', fileId: 'EGAF1', datasetId: 'EGAD1', bytes: 0, promised: 66_057 },
    ]);
    expect(world.archive.bytesRead).toBe(0);
  });

  test('to redirect=false is the URL, its end and the size', async () => {
    const reply = await ask(serveContent, 'EGAF1', { query: { redirect: 'false' } });
    expect(reply.status).toBe(200);
    expect(JSON.parse(String(reply.body))).toEqual({
      url: 'https://s3.example/archive/bodies/EGAF1?signature=s',
      expiresAt: '2026-11-21T10:15:00.000Z',
      size: 66_057,
      etag: '"archive-1"',
    });
  });

  test('to HEAD: size and tag of the object; nothing is signed', async () => {
    const reply = await ask(serveContent, 'EGAF1', { method: 'HEAD' });
    expect(reply).toMatchObject({
      status: 200,
      headers: {
        'Content-Length': '66057',
        ETag: '"archive-1"',
        'Content-Disposition': 'attachment; filename="EGAF1-sample.bam.body"',
      },
      body: '',
    });
    expect(urls.signed).toEqual([]);
  });

  test('does not look at a key that was sent for the other half', async () => {
    expect((await ask(serveContent, 'EGAF1', { headers: { 'Public-Key': 'not a key' } })).status).toBe(307);
  });

  test('of a name of any length can be signed', async () => {
    world.addFile('EGAF1', vector('split/body.bin'), `${'x'.repeat(400)}.bam`);
    expect((await ask(serveContent, 'EGAF1')).status).toBe(307);
  });
});
