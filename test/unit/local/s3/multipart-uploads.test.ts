import { CompleteMultipartUploadCommand, CreateMultipartUploadCommand, UploadPartCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { S3Server } from '../../../helpers/s3-server.ts';

let server: S3Server;
beforeAll(async () => {
  server = await S3Server.start('outbox');
});
afterAll(() => server[Symbol.asyncDispose]());

// S3 API reference, CompleteMultipartUpload: NoSuchUpload, HTTP 404, also for an upload that was completed.
test.each(['with the size stated', 'without'])(
  'an upload that is completed is gone: 404 NoSuchUpload (%s)',
  async (how) => {
    const client = server.client();
    const Key = `key ${how}`;
    const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket: 'outbox', Key }));
    const part = { Bucket: 'outbox', Key, UploadId, PartNumber: 1 };
    const { ETag } = await client.send(new UploadPartCommand({ ...part, Body: Buffer.from('four') }));
    const complete = () =>
      client.send(
        new CompleteMultipartUploadCommand({
          Bucket: 'outbox',
          Key,
          UploadId,
          MultipartUpload: { Parts: [{ PartNumber: 1, ETag }] },
          ...(how === 'without' ? {} : { MpuObjectSize: 4 }),
        }),
      );
    await complete();
    const gone = { name: 'NoSuchUpload', $metadata: { httpStatusCode: 404 } };
    await expect(complete()).rejects.toMatchObject(gone);
    await expect(client.send(new UploadPartCommand({ ...part, Body: Buffer.from('four') }))).rejects.toMatchObject(
      gone,
    );
    client.destroy();
  },
);
