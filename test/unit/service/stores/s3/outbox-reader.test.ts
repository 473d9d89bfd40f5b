import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StagedFile } from '../../../../../lib/service/outbox/ports.ts';
import { s3OutboxReader } from '../../../../../lib/service/stores/s3/outbox-reader.ts';
import { scripted, testClient } from '../../../../helpers/http-handler.ts';
import { S3Server } from '../../../../helpers/s3-server.ts';

const [ana, bob, many] = ['a'.repeat(64), 'b'.repeat(64), 'c'.repeat(64)] as const;
let server: S3Server;
let reader: ReturnType<typeof s3OutboxReader>;

beforeAll(async () => {
  server = await S3Server.start('outbox');
  const client = server.client();
  reader = s3OutboxReader({ client, bucket: 'outbox', urlLifetimeSeconds: 900 });
  const put = (key: string, text: string) =>
    client.send(new PutObjectCommand({ Bucket: 'outbox', Key: key, Body: text, ContentType: 'x/y' }));
  await put(`${ana}/EGAF2-b.c4gh`, 'two');
  await put(`${ana}/EGAF1-a.c4gh`, 'one');
  await put(`${ana}/not ours`, 'x');
  await put(`${ana}/deeper/EGAF3.c4gh`, 'x');
  await put(`${ana}b/EGAF4.c4gh`, 'x');
  await put(`${bob}/EGAF5-b.c4gh`, 'x');
  for (let number = 0; number < 20; number += 1) await put(`${many}/EGAF${10_000 + number}.c4gh`, 'x');
});
afterAll(() => server[Symbol.asyncDispose]());

async function pages(prefix: string): Promise<(readonly StagedFile[])[]> {
  const found: (readonly StagedFile[])[] = [];
  for await (const page of reader.list(prefix)) found.push(page);
  return found;
}

describe('list', () => {
  it('gives the containers of one recipient in name order, and nothing else that lies about', async () => {
    const [page, ...others] = await pages(ana);
    expect(others).toEqual([]);
    // With md5sum of "one" and of "two".
    expect(page?.map(({ name, size, etag }) => [name, size, etag])).toEqual([
      ['EGAF1-a.c4gh', 3, '"f97c5d29941bfb1b2fdab0874906ab82"'],
      ['EGAF2-b.c4gh', 3, '"b8a9f715dbb64fd5c56e7783c6820a61"'],
    ]);
    expect(page?.every(({ lastModified }) => Math.abs(Date.now() - lastModified.getTime()) < 120_000)).toBe(true);
  });

  it('begins behind a name, which need not exist, and reads nothing before it', async () => {
    server.requests.length = 0;
    const found: string[] = [];
    for await (const page of reader.list(many, 'EGAF10007.c4ga')) found.push(...page.map(({ name }) => name));
    expect(found).toEqual(Array.from({ length: 13 }, (_, n) => `EGAF${10_007 + n}.c4gh`));
    expect(server.requests).toHaveLength(1);
  });

  it('asks for the next page only when the caller wants it', async () => {
    const contents = `<Contents><Key>${ana}/EGAF1-a.c4gh</Key><Size>1</Size><ETag>"x"</ETag><LastModified>2026-01-02T03:04:05Z</LastModified></Contents>`;
    const body = `<ListBucketResult>${contents}<IsTruncated>true</IsTruncated><NextContinuationToken>next</NextContinuationToken></ListBucketResult>`;
    const { handler, requests } = scripted([
      { status: 200, body },
      { status: 200, body },
    ]);
    const client = new S3Client({ ...testClient, requestHandler: handler });
    const pagesOfMore = s3OutboxReader({ client, bucket: 'outbox', urlLifetimeSeconds: 900 })
      .list(ana)
      [Symbol.asyncIterator]();
    await pagesOfMore.next();
    expect(requests).toHaveLength(1);
    expect((await pagesOfMore.next()).value).toHaveLength(1);
    expect(requests.at(-1)?.query).toMatchObject({ 'continuation-token': 'next' });
  });

  it('says when S3 cannot list for now', async () => {
    for (let i = 0; i < 5; i += 1) server.faults.push({ action: 'ListObjectsV2', error: { status: 500, code: 'x' } });
    await expect(pages(ana)).rejects.toThrow(expect.objectContaining({ code: 'temporarily_unavailable' }));
  });
});

it.each([
  ['an unknown name', 'EGAF9.c4gh'],
  ["another recipient's", 'EGAF5-b.c4gh'],
  ['a way out', `../${bob}/EGAF5-b.c4gh`],
  ['a deeper one', 'deeper/EGAF3.c4gh'],
  ['a name with a space', 'not ours'],
  ['a NUL', 'EGAF1-a.c4gh\0'],
])('does not find %s', async (_name, name) => {
  expect(await reader.find(ana, name)).toBeUndefined();
});

describe('presign', () => {
  it('signs for the configured life, from now on', async () => {
    const clock = () => new Date('2026-01-02T03:04:05.678Z');
    const reader = s3OutboxReader({ client: server.client(), bucket: 'outbox', urlLifetimeSeconds: 900, clock });
    const { url, expiresAt } = await reader.presign(ana, 'EGAF1-a.c4gh');
    const { searchParams } = new URL(url);
    expect(searchParams.get('X-Amz-Date')).toBe('20260102T030405Z');
    expect(searchParams.get('X-Amz-Expires')).toBe('900');
    expect(searchParams.get('X-Amz-SignedHeaders')).toBe('host');
    expect(expiresAt.toISOString()).toBe('2026-01-02T03:19:05.000Z');
  });

  it('does not promise less for credentials that say when they end: those of a function do not', async () => {
    const expiration = new Date('2026-01-02T03:10:00.000Z');
    const client = new S3Client({
      region: 'eu-north-1',
      credentials: async () => ({ ...testClient.credentials, sessionToken: 't', expiration }),
    });
    const clock = () => new Date('2026-01-02T03:04:05.000Z');
    const reader = s3OutboxReader({ client, bucket: 'outbox', urlLifetimeSeconds: 900, clock });
    expect((await reader.presign(ana, 'x.c4gh')).expiresAt.toISOString()).toBe('2026-01-02T03:19:05.000Z');
  });

  it('never signs for a name that is not a single safe segment', async () => {
    for (const name of [`../${bob}/x`, 'a"b', 'a\nb', '']) {
      await expect(reader.presign(ana, name)).rejects.toThrow(RangeError);
    }
  });
});
