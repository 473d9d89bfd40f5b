import { createHash } from 'node:crypto';
import {
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { documented, type S3UnderTest, s3UnderTest } from '../../helpers/s3-under-test.ts';

/**
 * The promises of S3's documentation about objects, keys and listings, tested by the SDK on any server: see
 * `s3-under-test.ts`.
 */
let s3: S3UnderTest;
beforeAll(async () => {
  s3 = await s3UnderTest();
});
afterAll(() => s3?.[Symbol.asyncDispose]());

async function put(Key: string, Body: string | Uint8Array = 'x') {
  return await s3.client.send(new PutObjectCommand({ Bucket: s3.bucket, Key, Body }));
}
async function get(Key: string, Range?: string) {
  const reply = await s3.client.send(new GetObjectCommand({ Bucket: s3.bucket, Key, ...(Range && { Range }) }));
  return { ...reply, text: await reply.Body?.transformToString() };
}
async function list(prefix: string, options: { MaxKeys?: number; StartAfter?: string } = {}) {
  const keys: string[] = [];
  for (let ContinuationToken: string | undefined; ; ) {
    const page = await s3.client.send(
      new ListObjectsV2Command({ Bucket: s3.bucket, Prefix: prefix, ContinuationToken, ...options }),
    );
    keys.push(...(page.Contents ?? []).map(({ Key = '' }) => Key));
    ContinuationToken = page.NextContinuationToken;
    if (!page.IsTruncated) return keys;
  }
}
const refused = (name: string, status: number) => ({ name, $metadata: { httpStatusCode: status } });

describe('an object', () => {
  documented('comes back with what the writer said of it', async () => {
    const said = { ContentType: 'text/x-said', CacheControl: 'no-store', ContentDisposition: 'attachment' };
    const Metadata = { 'request-id': 'r1', other: 'with space' };
    await s3.client.send(new PutObjectCommand({ Bucket: s3.bucket, Key: 'said', Body: 'body', ...said, Metadata }));
    const head = await s3.client.send(new HeadObjectCommand({ Bucket: s3.bucket, Key: 'said' }));
    expect(head).toMatchObject({ ...said, Metadata, ContentLength: 4 });
    expect(head.ETag).toBe(`"${createHash('md5').update('body').digest('hex')}"`);
  });

  documented('goes with others in one request', async () => {
    await Promise.all(['many/a', 'many/b & c', 'many/d'].map((key) => put(key)));
    const Objects = ['many/a', 'many/b & c', 'many/absent'].map((Key) => ({ Key }));
    const { Deleted = [], Errors = [] } = await s3.client.send(
      new DeleteObjectsCommand({ Bucket: s3.bucket, Delete: { Objects } }),
    );
    expect(Errors).toEqual([]);
    expect(Deleted.map(({ Key }) => Key).sort()).toEqual(['many/a', 'many/absent', 'many/b & c']);
    expect(await list('many/')).toEqual(['many/d']);
  });
});

documented('ranges have their edges where RFC 9110 has them', async () => {
  await put('range', '0123456789');
  const parts = await Promise.all(
    ['bytes=0-0', 'bytes=9-9', 'bytes=3-5', 'bytes=8-', 'bytes=-2', 'bytes=-99', 'bytes=5-99'].map((range) =>
      get('range', range),
    ),
  );
  expect(parts.map(({ text }) => text)).toEqual(['0', '9', '345', '89', '89', '0123456789', '56789']);
  expect(parts.map(({ ContentRange }) => ContentRange)).toEqual(
    ['0-0', '9-9', '3-5', '8-9', '8-9', '0-9', '5-9'].map((range) => `bytes ${range}/10`),
  );
  await expect(get('range', 'bytes=10-10')).rejects.toMatchObject(refused('InvalidRange', 416));
  await expect(get('range', 'bytes=-0')).rejects.toMatchObject(refused('InvalidRange', 416));
});

describe('keys', () => {
  /** Every character that one byte can be, but NUL and those that no XML document carries. */
  const bytes = Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index)).filter(
    (character) => character !== '/',
  );

  documented('may have every printable byte, alone and doubled', async () => {
    const keys = [
      ...new Set(bytes.flatMap((character) => [`bytes/x${character}-`, `bytes/x${character}${character}`])),
    ];
    for (let start = 0; start < keys.length; start += 20) {
      await Promise.all(keys.slice(start, start + 20).map((key) => put(key, key)));
    }
    for (const key of keys) expect((await get(key)).text).toBe(key);
    const byBytes = keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    expect(await list('bytes/')).toEqual(byBytes);
  });

  documented('are listed by their UTF-8 bytes', async () => {
    const keys = ['utf8/z', 'utf8/é', 'utf8/\u{ff5e}', 'utf8/\u{1f9ec}', 'utf8/A', 'utf8/a'];
    await Promise.all(keys.map((key) => put(key)));
    // U+1F9EC begins with the byte F0 and comes after U+FF5E, EF; by UTF-16 units it would come before.
    expect(await list('utf8/')).toEqual(['A', 'a', 'z', 'é', '\u{ff5e}', '\u{1f9ec}'].map((name) => `utf8/${name}`));
  });
});

documented('a listing gives 110 objects in pages, each once and in order', async () => {
  const keys = Array.from({ length: 110 }, (_, index) => `page/n-${String(index).padStart(3, '0')}`);
  for (let start = 0; start < keys.length; start += 50) {
    await Promise.all(keys.slice(start, start + 50).map((key) => put(key)));
  }
  expect(await list('page/')).toEqual(keys);
  for (const MaxKeys of [1, 97]) expect(await list('page/', { MaxKeys })).toEqual(keys);
  expect(await list('page/', { StartAfter: 'page/n-107' })).toEqual(keys.slice(108));
});
