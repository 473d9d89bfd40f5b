import { PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { directUrls } from '../../../../../lib/service/stores/s3/presigned.ts';
import { S3Server } from '../../../../helpers/s3-server.ts';

const key = `direct/${'0a'.repeat(32)}/EGAF1-a.c4gh`;
let server: S3Server;

beforeAll(async () => {
  server = await S3Server.start('archive', 'outbox');
  const client = server.client();
  await client.send(new PutObjectCommand({ Bucket: 'outbox', Key: key, Body: 'container' }));
  await client.send(new PutObjectCommand({ Bucket: 'archive', Key: 'a b/ø+1', Body: 'archived body' }));
});
afterAll(() => server[Symbol.asyncDispose]());

function urls(clock?: () => Date) {
  const client = server.client();
  const buckets = { archiveBuckets: ['archive', 'second'], outboxBucket: 'outbox' } as const;
  return directUrls({ client, ...buckets, urlLifetimeSeconds: 600, ...(clock && { clock }) });
}

it('signs a short-lived container, to be fetched whole and in ranges as an attachment', async () => {
  const { url } = await urls().container(key);
  const whole = await fetch(url);
  expect([whole.status, await whole.text()]).toEqual([200, 'container']);
  expect(whole.headers.get('content-disposition')).toBe('attachment; filename="EGAF1-a.c4gh"');
  const rest = await fetch(url, { headers: { range: 'bytes=4-' } });
  expect([rest.status, rest.headers.get('content-range'), await rest.text()]).toEqual([206, 'bytes 4-8/9', 'ainer']);
});

it('signs an archived body under any key, with the name that it is told', async () => {
  const { url } = await urls().body({ archiveLocation: undefined, archiveFilePath: 'a b/ø+1' }, 'EGAF1-a.body');
  const whole = await fetch(url);
  expect([whole.status, await whole.text()]).toEqual([200, 'archived body']);
  expect(whole.headers.get('content-disposition')).toBe('attachment; filename="EGAF1-a.body"');
});

it('signs a body in the bucket that its location names, and none elsewhere', async () => {
  const { url } = await urls().body({ archiveLocation: 's3://second', archiveFilePath: 'b' }, 'EGAF1-a.body');
  expect(new URL(url).pathname).toBe('/second/b');
  const elsewhere = urls().body({ archiveLocation: 's3://third', archiveFilePath: 'b' }, 'EGAF1-a.body');
  await expect(elsewhere).rejects.toMatchObject({ code: 'archive_location_unknown' });
});

it('signs for the configured life, and asks S3 nothing', async () => {
  server.requests.length = 0;
  const { url, expiresAt } = await urls(() => new Date('2026-01-02T03:04:05.678Z')).container(key);
  expect(new URL(url).searchParams.get('X-Amz-Expires')).toBe('600');
  expect(expiresAt.toISOString()).toBe('2026-01-02T03:14:05.000Z');
  expect(server.requests).toEqual([]);
});

it.each([
  ['a staged container', `${'0a'.repeat(32)}/EGAF1-a.c4gh`],
  ['a way out of the prefix', `direct/${'0a'.repeat(32)}/../x`],
  ['a key without a digest', 'direct/EGAF1-a.c4gh'],
])('signs no %s', async (_, other) => {
  await expect(urls().container(other)).rejects.toBeInstanceOf(RangeError);
});

it('puts no name into a URL that would end a header value', async () => {
  await expect(urls().body({ archiveLocation: undefined, archiveFilePath: 'x' }, 'a".bam')).rejects.toBeInstanceOf(
    RangeError,
  );
});
