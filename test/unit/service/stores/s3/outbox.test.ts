import { GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Outbox, s3Outbox } from '../../../../../lib/service/stores/s3/outbox.ts';
import { scripted, testClient } from '../../../../helpers/http-handler.ts';
import { S3Server } from '../../../../helpers/s3-server.ts';

const mebibyte = 1024 * 1024;
const metadata = { 'request-id': 'r1', 'file-id': 'EGAF1' };
let server: S3Server;
let client: S3Client;
let outbox: Outbox;
beforeAll(async () => {
  server = await S3Server.start('outbox', 'archive', 'second');
  client = server.client();
  outbox = s3Outbox({ client, bucket: 'outbox', archiveBuckets: ['archive', 'second'] });
});
afterAll(() => server[Symbol.asyncDispose]());
beforeEach(() => {
  server.faults.length = 0;
  server.requests.length = 0;
});

/** In the default bucket, unless a location names another. */
const at = (archiveFilePath: string, archiveLocation?: string) => ({ archiveFilePath, archiveLocation });
/** S3's answer to CreateMultipartUpload. */
const started = {
  status: 200,
  body: '<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>',
};
const source9 = { address: at('k'), archiveEtag: '"e"', bodySize: 9 };
const all9 = { start: 0, end: 9 };

const actions = () => server.requests.map(({ action }) => action);
async function content(key: string): Promise<Buffer> {
  const { Body } = await client.send(new GetObjectCommand({ Bucket: 'outbox', Key: key }));
  return Buffer.from((await Body?.transformToByteArray()) ?? []);
}
/** Of a prime length, so that parts out of place show. */
const pattern = Uint8Array.from({ length: 253 }, (_, index) => index);

/** A body in the archive bucket, past the code under test. */
async function archived(key: string, size: number, location?: string) {
  const body = Buffer.alloc(size, pattern);
  const { ETag } = await client.send(new PutObjectCommand({ Bucket: location ?? 'archive', Key: key, Body: body }));
  server.requests.length = 0;
  return { body, source: { address: at(key, location), archiveEtag: ETag ?? '', bodySize: size } };
}

describe('put', () => {
  it('replaces only what was seen', async () => {
    await outbox.put('p/seen', Buffer.from('1'), metadata, undefined);
    const seen = (await outbox.head('p/seen'))?.etag;
    expect(await outbox.put('p/seen', Buffer.from('2'), metadata, undefined)).toBe('conflict');
    expect(await outbox.put('p/seen', Buffer.from('3'), metadata, seen)).toBe('written');
    expect(await outbox.put('p/seen', Buffer.from('4'), metadata, seen)).toBe('conflict');
    expect(await outbox.put('p/absent', Buffer.from('5'), metadata, seen)).toBe('conflict');
    expect((await content('p/seen')).toString()).toBe('3');
    expect(await outbox.head('p/absent')).toBeUndefined();
  });

  it('calls a delete that won at the same moment a conflict', async () => {
    server.faults.push({ action: 'PutObject', error: { status: 409, code: 'ConditionalRequestConflict' } });
    expect(await outbox.put('p/409', Buffer.from('1'), metadata, undefined)).toBe('conflict');
  });
});

describe('multipart upload', () => {
  it.each([
    ['was replaced', 'temporarily_unavailable', { archiveEtag: '"00000000000000000000000000000000"' }],
    ['is missing', 'archive_damaged', { address: at('missing') }],
  ])('when the body to copy %s, the error is %s', async (_name, code, difference) => {
    const { source } = await archived('to copy', 6 * mebibyte);
    const upload = await outbox.startUpload('p/damaged', metadata);
    const copy = upload.copyPart(1, { ...source, ...difference }, { start: 0, end: mebibyte });
    await expect(copy).rejects.toThrow(expect.objectContaining({ code }));
  });

  it.each([
    // Amazon S3 and versitygw.
    [400, 'InvalidArgument', 'Range specified is not valid for source object of size: 9'],
    [416, 'InvalidRange', 'The requested range is not satisfiable'],
  ])('calls the archive damaged when S3 refuses the range with %i %s', async (status, code, message) => {
    const { handler } = scripted([
      started,
      { status, body: `<Error><Code>${code}</Code><Message>${message}</Message></Error>` },
      { status: 400, body: '<Error><Code>InvalidArgument</Code><Message>Invalid part number</Message></Error>' },
    ]);
    const upload = await scriptedOutbox(handler).startUpload('p/x', metadata);
    await expect(upload.copyPart(1, source9, all9)).rejects.toThrow(
      expect.objectContaining({ code: 'archive_damaged' }),
    );
    // Another argument says nothing about the body.
    await expect(upload.copyPart(1, source9, all9)).rejects.toMatchObject({ name: 'InvalidArgument' });
  });

  it('does not blame the body when the upload to copy into is gone', async () => {
    const { source } = await archived('to copy', 6 * mebibyte);
    const upload = await outbox.startUpload('p/gone', metadata);
    server.faults.push({ action: 'UploadPartCopy', error: { status: 404, code: 'NoSuchUpload' } });
    const copy = upload.copyPart(1, source, { start: 0, end: mebibyte });
    await expect(copy).rejects.toThrow(expect.objectContaining({ code: 'temporarily_unavailable' }));
  });

  it('begins again later when the upload was aborted before it was complete', async () => {
    const { handler } = scripted([
      started,
      { status: 404, body: '<Error><Code>NoSuchUpload</Code></Error>' },
      // What existed before, from another request.
      { status: 200, headers: headHeaders('r0', 4) },
    ]);
    const upload = await scriptedOutbox(handler).startUpload('p/x', metadata);
    await expect(upload.complete([], 4, undefined)).rejects.toThrow(
      expect.objectContaining({ code: 'temporarily_unavailable' }),
    );
  });

  it('notices a size that S3 did not check', async () => {
    const { handler } = scripted([
      started,
      { status: 200, headers: { etag: '"p1"' } },
      { status: 200, body: '<CompleteMultipartUploadResult><ETag>"x-1"</ETag></CompleteMultipartUploadResult>' },
      { status: 200, headers: headHeaders('r1', 7) },
    ]);
    const upload = await scriptedOutbox(handler).startUpload('p/x', metadata);
    const part = await upload.uploadPart(1, Buffer.from('four'));
    await expect(upload.complete([part], 4, undefined)).rejects.toThrow('expected 4');
  });

  it('begins again later when a part was sent again by another delivery', async () => {
    const upload = await outbox.startUpload('p/part', metadata);
    const part = await upload.uploadPart(1, Buffer.from('four'));
    await upload.uploadPart(1, Buffer.from('five'));
    await expect(upload.complete([part], 4, undefined)).rejects.toThrow(
      expect.objectContaining({ code: 'temporarily_unavailable' }),
    );
    const listed = (await upload.parts()) ?? [];
    expect(await upload.complete(listed, 4, undefined)).toBe('written');
    expect((await content('p/part')).toString()).toBe('five');
  });

  it('settles a lost answer to Complete by looking, and sends it no third time', async () => {
    const upload = await outbox.startUpload('p/lost', metadata);
    const part = await upload.uploadPart(1, Buffer.from('four'));
    server.faults.push({ action: 'CompleteMultipartUpload', carriedOut: true });
    expect(await upload.complete([part], 4, undefined)).toBe('written');
    expect(actions().filter((action) => action === 'CompleteMultipartUpload')).toHaveLength(2);
    expect((await content('p/lost')).toString()).toBe('four');
  });

  it('reports a conflict, and keeps the parts to be aborted', async () => {
    await outbox.put('p/conflict', Buffer.from('older'), { 'request-id': 'r0' }, undefined);
    const upload = await outbox.startUpload('p/conflict', metadata);
    const part = await upload.uploadPart(1, Buffer.from('four'));
    expect(await upload.complete([part], 4, undefined)).toBe('conflict');
    expect((await content('p/conflict')).toString()).toBe('older');
    await upload.abort();
    expect(await upload.parts()).toBeUndefined();
  });

  it('takes the same container of the same request, written by another delivery, for its own, and drops its parts', async () => {
    const [one, two] = [await outbox.startUpload('p/twice', metadata), await outbox.startUpload('p/twice', metadata)];
    const parts = await Promise.all([one, two].map((upload) => upload.uploadPart(1, Buffer.from('four'))));
    expect(await one.complete(parts.slice(0, 1), 4, undefined)).toBe('written');
    expect(await two.complete(parts.slice(1), 4, undefined)).toBe('written');
    expect(await two.parts()).toBeUndefined();
  });

  it('does not take an error for success because its status is 200', async () => {
    const error = '<?xml version="1.0"?><Error><Code>InternalError</Code><Message>again</Message></Error>';
    const { handler, left } = scripted([
      started,
      { status: 200, body: error },
      { status: 404 },
      { status: 200, body: error },
    ]);
    const upload = await scriptedOutbox(handler).startUpload('p/x', metadata);
    await expect(upload.complete([], 4, undefined)).rejects.toThrow(
      expect.objectContaining({ code: 'temporarily_unavailable' }),
    );
    await expect(upload.copyPart(1, source9, all9)).rejects.toThrow(
      expect.objectContaining({ code: 'temporarily_unavailable' }),
    );
    expect(left).toEqual([]);
  });

  it('waits minutes, not seconds, for what S3 does in silence: copying and joining', async () => {
    const { handler, requests } = scripted([
      started,
      { status: 200, body: '<CopyPartResult><ETag>"p1"</ETag></CopyPartResult>' },
      { status: 200, body: '<CompleteMultipartUploadResult><ETag>"x-1"</ETag></CompleteMultipartUploadResult>' },
      { status: 200, headers: headHeaders('r1', 9) },
    ]);
    const upload = await scriptedOutbox(handler).startUpload('p/x', metadata);
    const part = await upload.copyPart(1, source9, all9);
    await upload.complete([part], 9, undefined);
    expect(requests.map(({ requestTimeout }) => requestTimeout)).toEqual([undefined, 600_000, 600_000, undefined]);
  });

  it('asks S3 to hold the source fast, and to keep a checksum of the whole', async () => {
    const { source } = await archived('a b', 6 * mebibyte);
    const upload = await outbox.startUpload('p/headers', metadata);
    await upload.copyPart(2, source, { start: 0, end: mebibyte });
    await upload.uploadPart(1, Buffer.from('x'));
    const [create, copy, sent] = server.requests.map(({ headers }) => headers);
    expect(copy).toMatchObject({
      'x-amz-copy-source': 'archive/a%20b',
      'x-amz-copy-source-if-match': source.archiveEtag,
      'x-amz-copy-source-range': 'bytes=0-1048575',
    });
    // sha256sum of "x": the signature covers the bytes.
    expect(sent?.['x-amz-content-sha256']).toBe('2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881');
    expect(create).toMatchObject({ 'x-amz-checksum-algorithm': 'CRC64NVME', 'x-amz-checksum-type': 'FULL_OBJECT' });
    expect(sent?.['x-amz-checksum-crc64nvme']).toMatch(/^[A-Za-z0-9+/]{11}=$/);
    await upload.abort();
  });
});

describe('a receipt', () => {
  const generation = (value: string) => ({ ...metadata, generation: value });

  it('has its media type, in one request and in parts', async () => {
    const receipts = s3Outbox({ client, bucket: 'outbox', contentType: 'application/jose' });
    await receipts.put('p/r1', Buffer.from('x'), generation('1'), undefined);
    const upload = await receipts.startUpload('p/r2', generation('1'));
    await upload.complete([await upload.uploadPart(1, Buffer.from('x'))], 1, undefined);
    for (const Key of ['p/r1', 'p/r2']) {
      const { ContentType, Metadata } = await client.send(new GetObjectCommand({ Bucket: 'outbox', Key }));
      expect([ContentType, Metadata]).toEqual(['application/jose', generation('1')]);
    }
    const { source } = await archived('a body', mebibyte);
    const copying = await receipts.startUpload('p/r3', generation('1'));
    await expect(copying.copyPart(1, source, { start: 0, end: 1 })).rejects.toThrow(TypeError);
    await copying.abort();
  });

  it('of an earlier generation and the same size is not a sign that a Complete succeeded', async () => {
    await outbox.put('p/r4', Buffer.from('1'), generation('1'), undefined);
    const upload = await outbox.startUpload('p/r4', generation('2'));
    const parts = [await upload.uploadPart(1, Buffer.from('2'))];
    expect(await upload.complete(parts, 1, undefined)).toBe('conflict');
    const earlier = await outbox.head('p/r4');
    expect(await upload.complete(parts, 1, earlier?.etag)).toBe('written');
    expect(await outbox.head('p/r4')).toMatchObject({ metadata: generation('2') });
  });
});

function headHeaders(requestId: string, size: number) {
  return {
    'content-length': String(size),
    etag: '"x-1"',
    'last-modified': 'Thu, 01 Jan 2026 00:00:00 GMT',
    'x-amz-meta-request-id': requestId,
  };
}

function scriptedOutbox(requestHandler: ReturnType<typeof scripted>['handler']): Outbox {
  const options = { ...testClient, maxAttempts: 1, requestHandler };
  const s3 = new S3Client({ ...options, requestChecksumCalculation: 'WHEN_REQUIRED' });
  return s3Outbox({ client: s3, bucket: 'outbox', archiveBuckets: ['archive', 'second'] });
}
