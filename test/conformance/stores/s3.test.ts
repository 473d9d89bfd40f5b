import { createHash, randomBytes } from 'node:crypto';
import { CreateBucketCommand, GetObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { crcOf, formatCrc } from '../../../lib/common/crc64nvme.ts';
import { outboxMetadata } from '../../../lib/contract/outbox-key.ts';
import { S3ArchiveWriter } from '../../../lib/ops/stores/archive-writer.ts';
import { containerCrc } from '../../../lib/service/containers/write-container.ts';
import { s3Client } from '../../../lib/service/stores/clients.ts';
import { s3Archive } from '../../../lib/service/stores/s3/archive.ts';
import { type Outbox, s3Outbox } from '../../../lib/service/stores/s3/outbox.ts';
import { s3OutboxReader } from '../../../lib/service/stores/s3/outbox-reader.ts';
import { testClient } from '../../helpers/http-handler.ts';
import { S3Server } from '../../helpers/s3-server.ts';
import { documented } from '../../helpers/s3-under-test.ts';

/**
 * The promises of S3 that the stores need, tested on any server: the embedded one, or the one at `DATA_OUT_S3_ENDPOINT`
 * with the credentials and region of the environment. There new buckets are made, or named by `DATA_OUT_S3_BUCKET`
 * (then it serves as archive and outbox, under a prefix of this run).
 */
const endpoint = process.env.DATA_OUT_S3_ENDPOINT;
const named = process.env.DATA_OUT_S3_BUCKET;
const run = randomBytes(6).toString('hex');
const archiveBucket = named ?? `data-out-archive-${run}`;
const outboxBucket = named ?? `data-out-outbox-${run}`;
const mebibyte = 1024 * 1024;
/** Keys of this run: an outbox prefix is 64 hex characters. */
const prefix = createHash('sha256').update(run).digest('hex');
const metadata = { [outboxMetadata.requestId]: 'r1', [outboxMetadata.fileId]: 'EGAF1' };

let server: S3Server | undefined;
let client: S3Client;
let archive: ReturnType<typeof s3Archive>;
let outbox: Outbox;
let reader: ReturnType<typeof s3OutboxReader>;

beforeAll(async () => {
  if (endpoint === undefined) {
    server = await S3Server.start(archiveBucket, outboxBucket);
    client = server.client();
  } else {
    const own = process.env.AWS_ACCESS_KEY_ID ? { region: process.env.AWS_REGION ?? 'us-east-1' } : testClient;
    client = s3Client({ ...own, endpoint });
    if (named === undefined) {
      const LocationConstraint = testClient.region;
      for (const Bucket of [archiveBucket, outboxBucket]) {
        await client.send(new CreateBucketCommand({ Bucket, CreateBucketConfiguration: { LocationConstraint } }));
      }
    }
  }
  archive = s3Archive({ client, buckets: [archiveBucket] });
  outbox = s3Outbox({ client, bucket: outboxBucket, archiveBuckets: [archiveBucket] });
  reader = s3OutboxReader({ client, bucket: outboxBucket, urlLifetimeSeconds: 900 });
});
afterAll(async () => {
  client?.destroy();
  await server?.[Symbol.asyncDispose]();
});

/** Of a prime length, so that parts out of place show. */
const pattern = Uint8Array.from({ length: 251 }, (_, index) => index);
const bytes = (size: number) => Buffer.alloc(size, pattern);

async function* inPieces(data: Buffer, size: number) {
  for (let start = 0; start < data.length; start += size) yield data.subarray(start, start + size);
}

async function archived(name: string, size: number) {
  const key = `${run}/${name}`;
  const body = bytes(size);
  await new S3ArchiveWriter({ client, bucket: archiveBucket, location: '' }).upload(key, inPieces(body, 1_000_003));
  const address = { archiveLocation: undefined, archiveFilePath: key };
  const { etag } = await archive.head(address);
  return { address, body, source: { address, archiveEtag: etag, bodySize: size } };
}

async function staged(key: string): Promise<Buffer> {
  const { Body } = await client.send(new GetObjectCommand({ Bucket: outboxBucket, Key: key }));
  return Buffer.from((await Body?.transformToByteArray()) ?? []);
}

describe('the archive', () => {
  it('gives back every byte of a body that came in pieces, and ranges of it', async () => {
    const { address, body, source } = await archived('pieces.bin', 9 * mebibyte + 17);
    expect((await archive.head(address)).size).toBe(body.length);
    const { archiveEtag: etag } = source;
    expect(Buffer.from(await archive.read(address, { start: 0, end: 5, etag })).equals(body.subarray(0, 5))).toBe(true);
    const end = body.length;
    expect(Buffer.from(await archive.read(address, { start: end - 9, end, etag })).equals(body.subarray(-9))).toBe(
      true,
    );
  });

  it('keeps an empty body', async () => {
    const { address } = await archived('empty.bin', 0);
    expect((await archive.head(address)).size).toBe(0);
  });

  it('calls a body that is missing damage', async () => {
    await expect(archive.head({ archiveLocation: undefined, archiveFilePath: `${run}/absent` })).rejects.toMatchObject({
      code: 'archive_damaged',
    });
  });
});

describe('the outbox', () => {
  it.each(['with space, plus+percent%25.bin', 'größe/Δ (1).bin', "quote'&=;,@!~*.bin"])(
    'copies the body %s inside S3, behind its own bytes',
    async (name) => {
      const { body, source } = await archived(name, 12 * mebibyte);
      const key = `${prefix}/${createHash('sha256').update(name).digest('hex')}.c4gh`;
      const upload = await outbox.startUpload(key, metadata);
      const first = Buffer.concat([Buffer.from('header'), body.subarray(0, 5 * mebibyte)]);
      const sent = await upload.uploadPart(1, first);
      const [third, second] = await Promise.all([
        upload.copyPart(3, source, { start: 10 * mebibyte, end: body.length }),
        upload.copyPart(2, source, { start: 5 * mebibyte, end: 10 * mebibyte }),
      ]);
      expect(await outbox.head(key)).toBeUndefined();
      expect(await upload.complete([sent, second, third], 6 + body.length, undefined)).toBe('written');
      expect(await outbox.head(key)).toMatchObject({ size: 6 + body.length, metadata });
      expect((await staged(key)).equals(Buffer.concat([Buffer.from('header'), body]))).toBe(true);
    },
  );

  documented(
    'calls a range past the end of the body damage',
    async () => {
      const { source } = await archived('short.bin', 6 * mebibyte);
      const upload = await outbox.startUpload(`${prefix}/short.c4gh`, metadata);
      const copy = upload.copyPart(1, source, { start: 0, end: 6 * mebibyte + 1 });
      await expect(copy).rejects.toMatchObject({ code: 'archive_damaged' });
      await upload.abort();
    },
    { moto: 'it copies the bytes that exist' },
  );

  documented(
    'refuses a container whose checksum does not follow from that of its body, and shows the one that does',
    async () => {
      const body = bytes(12 * mebibyte);
      const address = { archiveLocation: undefined, archiveFilePath: `${run}/checked.bin` };
      const into = new S3ArchiveWriter({ client, bucket: archiveBucket, location: '' });
      await into.upload(address.archiveFilePath, inPieces(body, 1_000_003));
      const { etag, crc64nvme } = await archive.head(address, { checksum: true });
      expect(crc64nvme).toBe(formatCrc(await crcOf(body)));
      const source = { address, archiveEtag: etag, bodySize: body.length, ...(crc64nvme && { crc64nvme }) };
      const header = Buffer.from('header');
      const copy = async (start: number) => {
        const upload = await outbox.startUpload(`${prefix}/checked.c4gh`, metadata);
        const first = Buffer.concat([header, body.subarray(0, 5 * mebibyte)]);
        // The checksum of each part is told where the upload began with one.
        const parts = [
          await upload.uploadPart(1, first),
          await upload.copyPart(2, source, { start, end: start + 7 * mebibyte }),
        ];
        return upload.complete(parts, 6 + body.length, undefined, await containerCrc(header, source));
      };
      // Bytes from another place of the body, as a copy that was resumed wrongly would have.
      await expect(copy(4 * mebibyte)).rejects.toMatchObject({ code: 'archive_damaged' });
      expect(await outbox.head(`${prefix}/checked.c4gh`)).toBeUndefined();
      expect(await copy(5 * mebibyte)).toBe('written');
      const put = (bytesToPut: Buffer, key: string) =>
        outbox.put(`${prefix}/${key}.c4gh`, bytesToPut, metadata, undefined, crc64nvme);
      await expect(put(bytes(10), 'wrong')).rejects.toMatchObject({ code: 'archive_damaged' });
      expect(await put(body, 'right')).toBe('written');
    },
    { moto: 'it compares no checksum', versitygw: 'it refuses the right checksum where a part was copied' },
  );

  it('goes on with an upload by its id, and tells when it is gone', async () => {
    const key = `${prefix}/resumed.c4gh`;
    const begun = await outbox.startUpload(key, metadata);
    const part = await begun.uploadPart(1, bytes(10));
    const resumed = outbox.upload(key, metadata, begun.uploadId);
    const parts = (await resumed.parts()) ?? [];
    expect(parts).toMatchObject([{ partNumber: 1, etag: part.etag }]);
    expect(await resumed.complete(parts, 10, undefined)).toBe('written');
    const aborted = await outbox.startUpload(key, metadata);
    await aborted.abort();
    expect(await outbox.upload(key, metadata, aborted.uploadId).parts()).toBeUndefined();
  });

  it('removes a container only while it is the one that was seen', async () => {
    const key = `${prefix}/removed.c4gh`;
    await outbox.put(key, bytes(3), metadata, undefined);
    const { etag = '' } = (await outbox.head(key)) ?? {};
    await outbox.put(key, bytes(4), metadata, etag);
    expect(await outbox.remove(key, etag)).toBe('replaced');
    const seen = await outbox.head(key);
    expect(seen).toMatchObject({ size: 4, metadata });
    expect(await outbox.remove(key, seen?.etag ?? '')).toBe('removed');
    expect(await outbox.head(key)).toBeUndefined();
  });

  documented(
    'tells a container that is gone from one that it removed',
    async () => {
      expect(await outbox.remove(`${prefix}/absent.c4gh`, '"0123456789abcdef0123456789abcdef"')).toBe('gone');
    },
    { versitygw: 'it answers 204, as without a condition' },
  );

  it('finds the containers of the direct API, and no others', async () => {
    const digest = createHash('sha256').update(`${run} direct`).digest('hex');
    const key = `direct/${digest}/EGAF1-a.c4gh`;
    await outbox.put(key, bytes(3), metadata, undefined);
    await outbox.put(`${prefix}/EGAF1-a.c4gh`, bytes(3), metadata, undefined);
    const keys: string[] = [];
    for await (const page of outbox.directKeys()) keys.push(...page.filter((one) => one.includes(digest)));
    expect(keys).toEqual([key]);
  });

  it('serves ranges by a presigned URL, as an attachment', async () => {
    await outbox.put(`${prefix}/signed.c4gh`, bytes(1000), metadata, undefined);
    const { url } = await reader.presign(prefix, 'signed.c4gh');
    const whole = await fetch(url);
    expect(whole.headers.get('content-disposition')).toBe('attachment; filename="signed.c4gh"');
    expect(Buffer.from(await whole.arrayBuffer()).equals(bytes(1000))).toBe(true);
    const part = await fetch(url, { headers: { Range: 'bytes=990-' } });
    expect(part.status).toBe(206);
    expect(Buffer.from(await part.arrayBuffer()).equals(bytes(1000).subarray(990))).toBe(true);
  });
});
