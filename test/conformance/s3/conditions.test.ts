import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  PutObjectCommand,
  UploadPartCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { documented, type S3UnderTest, s3UnderTest } from '../../helpers/s3-under-test.ts';

/** The promises of S3's documentation about conditions, tested by the SDK on any server: see `s3-under-test.ts`. */
let s3: S3UnderTest;
beforeAll(async () => {
  s3 = await s3UnderTest();
});
afterAll(() => s3?.[Symbol.asyncDispose]());

const stale = '"00000000000000000000000000000000"';

async function put(
  Key: string,
  Body: string | Uint8Array,
  conditions: { IfMatch?: string; IfNoneMatch?: string } = {},
) {
  const { ETag = '' } = await s3.client.send(new PutObjectCommand({ Bucket: s3.bucket, Key, Body, ...conditions }));
  return ETag;
}

async function text(Key: string) {
  const { Body } = await s3.client.send(new GetObjectCommand({ Bucket: s3.bucket, Key }));
  return Body?.transformToString();
}

/** An upload of one part, ready to be completed. */
async function upload(Key: string, body: string) {
  const { UploadId } = await s3.client.send(new CreateMultipartUploadCommand({ Bucket: s3.bucket, Key }));
  const part = { Bucket: s3.bucket, Key, UploadId, PartNumber: 1 };
  const { ETag } = await s3.client.send(new UploadPartCommand({ ...part, Body: body }));
  const MultipartUpload = { Parts: [{ PartNumber: 1, ETag }] };
  return (conditions: { IfMatch?: string; IfNoneMatch?: string; MpuObjectSize?: number } = {}) =>
    s3.client.send(
      new CompleteMultipartUploadCommand({ Bucket: s3.bucket, Key, UploadId, MultipartUpload, ...conditions }),
    );
}

const refused = (name: string, status: number) => ({ name, $metadata: { httpStatusCode: status } });

describe('PutObject', () => {
  documented('with If-None-Match: * writes a key once', async () => {
    await put('put/once', 'first', { IfNoneMatch: '*' });
    await expect(put('put/once', 'second', { IfNoneMatch: '*' })).rejects.toMatchObject(
      refused('PreconditionFailed', 412),
    );
    expect(await text('put/once')).toBe('first');
  });

  documented('with If-Match replaces the object of that entity tag', async () => {
    const first = await put('put/match', 'first');
    const second = await put('put/match', 'second', { IfMatch: first });
    expect(await text('put/match')).toBe('second');
    await expect(put('put/match', 'third', { IfMatch: first })).rejects.toMatchObject(
      refused('PreconditionFailed', 412),
    );
    expect(second).not.toBe(first);
    expect(await text('put/match')).toBe('second');
  });

  documented('with If-Match of a key that is not there is 404', async () => {
    await expect(put('put/absent', 'x', { IfMatch: stale })).rejects.toMatchObject(refused('NoSuchKey', 404));
  });

  documented('lets one of ten writers at once win under If-None-Match: *', async () => {
    const writers = Array.from({ length: 10 }, (_, index) => put('put/race', `writer ${index}`, { IfNoneMatch: '*' }));
    const won = (await Promise.allSettled(writers)).flatMap(({ status }, index) =>
      status === 'fulfilled' ? [index] : [],
    );
    expect(won).toHaveLength(1);
    expect(await text('put/race')).toBe(`writer ${won[0]}`);
  });
});

describe('CompleteMultipartUpload', () => {
  documented('with If-None-Match: * refuses a key that has come meanwhile, and keeps the parts', async () => {
    const complete = await upload('complete/none', 'of the upload');
    const etag = await put('complete/none', 'meanwhile');
    await expect(complete({ IfNoneMatch: '*' })).rejects.toMatchObject(refused('PreconditionFailed', 412));
    expect(await text('complete/none')).toBe('meanwhile');
    await complete({ IfMatch: etag });
    expect(await text('complete/none')).toBe('of the upload');
  });

  documented(
    'with a stale If-Match refuses',
    async () => {
      const complete = await upload('complete/stale', 'of the upload');
      await put('complete/stale', 'there');
      await expect(complete({ IfMatch: stale })).rejects.toMatchObject(refused('PreconditionFailed', 412));
      expect(await text('complete/stale')).toBe('there');
    },
    { moto: 'it passes over the condition' },
  );

  documented(
    'with If-Match of a key that is not there is 404',
    async () => {
      const complete = await upload('complete/absent', 'of the upload');
      await expect(complete({ IfMatch: stale })).rejects.toMatchObject(refused('NoSuchKey', 404));
    },
    { moto: 'it passes over the condition' },
  );

  documented(
    'with a wrong MpuObjectSize refuses',
    async () => {
      const complete = await upload('complete/size', '13 characters');
      await expect(complete({ MpuObjectSize: 12 })).rejects.toMatchObject({ $metadata: { httpStatusCode: 400 } });
      await complete({ MpuObjectSize: 13 });
      expect(await text('complete/size')).toBe('13 characters');
    },
    { moto: 'it passes over the size' },
  );

  documented('lets one of two uploads of a key win under If-None-Match: *', async () => {
    const all = await Promise.all(['one', 'two'].map((body) => upload('complete/race', body)));
    const outcomes = await Promise.allSettled(all.map((complete) => complete({ IfNoneMatch: '*' })));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  documented('twice at once makes one object', async () => {
    const complete = await upload('complete/twice', 'of the upload');
    const outcomes = await Promise.allSettled([complete(), complete()]);
    expect(outcomes.some(({ status }) => status === 'fulfilled')).toBe(true);
    expect(await text('complete/twice')).toBe('of the upload');
  });
});

describe('DeleteObject', () => {
  const remove = (Key: string, IfMatch: string) =>
    s3.client.send(new DeleteObjectCommand({ Bucket: s3.bucket, Key, IfMatch }));

  documented('with If-Match removes the object of that entity tag', async () => {
    const etag = await put('delete/match', 'x');
    expect(await remove('delete/match', etag)).toMatchObject({ $metadata: { httpStatusCode: 204 } });
    await expect(text('delete/match')).rejects.toMatchObject(refused('NoSuchKey', 404));
  });

  documented('with If-Match leaves an object that was replaced', async () => {
    const first = await put('delete/stale', 'first');
    await put('delete/stale', 'second');
    await expect(remove('delete/stale', first)).rejects.toMatchObject(refused('PreconditionFailed', 412));
    expect(await text('delete/stale')).toBe('second');
  });

  documented(
    'with If-Match of a key that is not there is 404',
    async () => {
      await expect(remove('delete/absent', stale)).rejects.toMatchObject(refused('NoSuchKey', 404));
    },
    { versitygw: 'it answers 204, as without a condition' },
  );
});

describe('UploadPartCopy', () => {
  const body = Buffer.alloc(6 * 1024 * 1024, 'a');
  async function copy(Key: string, source: { key: string; IfMatch?: string; range?: string }) {
    const { UploadId } = await s3.client.send(new CreateMultipartUploadCommand({ Bucket: s3.bucket, Key }));
    return await s3.client.send(
      new UploadPartCopyCommand({
        Bucket: s3.bucket,
        Key,
        UploadId,
        PartNumber: 1,
        CopySource: `${s3.bucket}/${source.key}`,
        ...(source.IfMatch !== undefined && { CopySourceIfMatch: source.IfMatch }),
        ...(source.range !== undefined && { CopySourceRange: source.range }),
      }),
    );
  }

  documented(
    'with a stale CopySourceIfMatch refuses',
    async () => {
      const etag = await put('copy/source', body);
      await expect(copy('copy/stale', { key: 'copy/source', IfMatch: stale })).rejects.toMatchObject(
        refused('PreconditionFailed', 412),
      );
      await copy('copy/fresh', { key: 'copy/source', IfMatch: etag });
    },
    { moto: 'it passes over the condition' },
  );

  documented(
    'refuses a range that ends behind the source',
    async () => {
      await put('copy/short', body);
      const range = `bytes=0-${body.length}`;
      const copying = copy('copy/long', { key: 'copy/short', range });
      await expect(copying).rejects.toMatchObject(refused('InvalidArgument', 400));
      await expect(copying).rejects.toThrow(`Range specified is not valid for source object of size: ${body.length}`);
      await copy('copy/exact', { key: 'copy/short', range: `bytes=0-${body.length - 1}` });
    },
    { moto: 'it copies the bytes that exist' },
  );

  documented(
    'of a key that is not there is 404',
    async () => {
      await expect(copy('copy/none', { key: 'copy/absent' })).rejects.toMatchObject(refused('NoSuchKey', 404));
    },
    { moto: 'its error has no code' },
  );
});

documented('GetObject refuses a reader who wants another one', async () => {
  await put('read/other', 'x');
  const get = new GetObjectCommand({ Bucket: s3.bucket, Key: 'read/other', IfMatch: stale });
  await expect(s3.client.send(get)).rejects.toMatchObject(refused('PreconditionFailed', 412));
});
