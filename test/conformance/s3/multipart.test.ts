import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListPartsCommand,
  PutObjectCommand,
  UploadPartCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { documented, type S3UnderTest, s3UnderTest } from '../../helpers/s3-under-test.ts';

/** The promises of S3's documentation about multipart uploads and checksums, tested by the SDK on any server. */
let s3: S3UnderTest;
beforeAll(async () => {
  s3 = await s3UnderTest();
});
afterAll(() => s3?.[Symbol.asyncDispose]());

const mebibyte = 1024 * 1024;
/** The period is prime, so that bytes out of place show. */
const pattern = (size: number, first = 0) =>
  Buffer.alloc(
    size,
    Uint8Array.from({ length: 251 }, (_, at) => (at + first) % 251),
  );
const refused = (name: string, status = 400) => ({ name, $metadata: { httpStatusCode: status } });

async function start(Key: string, checksums = false) {
  const { UploadId } = await s3.client.send(
    new CreateMultipartUploadCommand({
      Bucket: s3.bucket,
      Key,
      ...(checksums && { ChecksumAlgorithm: 'CRC64NVME', ChecksumType: 'FULL_OBJECT' }),
    }),
  );
  const upload = { Bucket: s3.bucket, Key, UploadId };
  return {
    upload,
    part: (PartNumber: number, Body: Uint8Array) =>
      s3.client.send(new UploadPartCommand({ ...upload, PartNumber, Body })),
    complete: (
      parts: readonly { PartNumber: number; ETag?: string | undefined; ChecksumCRC64NVME?: string | undefined }[],
      options: { ChecksumCRC64NVME?: string; ChecksumType?: 'FULL_OBJECT' } = {},
    ) => {
      const MultipartUpload = { Parts: [...parts] };
      return s3.client.send(new CompleteMultipartUploadCommand({ ...upload, MultipartUpload, ...options }));
    },
  };
}

describe('a multipart upload', () => {
  documented('joins its parts by their numbers, whenever they came, each as it came last', async () => {
    const key = 'order';
    const { part, complete } = await start(key);
    const bodies = [pattern(5 * mebibyte), pattern(5 * mebibyte, 7), pattern(10, 11)] as const;
    const third = await part(30, bodies[2]);
    await part(2, pattern(10));
    const second = await part(2, bodies[1]);
    const first = await part(1, bodies[0]);
    await complete([
      { PartNumber: 1, ETag: first.ETag },
      { PartNumber: 2, ETag: second.ETag },
      { PartNumber: 30, ETag: third.ETag },
    ]);
    const { Body } = await s3.client.send(new GetObjectCommand({ Bucket: s3.bucket, Key: key }));
    expect(Buffer.from((await Body?.transformToByteArray()) ?? []).equals(Buffer.concat(bodies))).toBe(true);
  });

  documented(
    'refuses parts out of order and unknown ones',
    async () => {
      const { part, complete } = await start('refused');
      const [one, two] = [await part(1, pattern(5 * mebibyte)), await part(2, pattern(5 * mebibyte))];
      const parts = [
        { PartNumber: 2, ETag: two.ETag },
        { PartNumber: 1, ETag: one.ETag },
      ];
      await expect(complete(parts)).rejects.toMatchObject(refused('InvalidPartOrder'));
      await expect(complete([{ PartNumber: 3, ETag: one.ETag }])).rejects.toMatchObject(refused('InvalidPart'));
      await expect(complete([{ PartNumber: 1, ETag: '"0123"' }])).rejects.toMatchObject(refused('InvalidPart'));
    },
    { moto: 'it takes them in any order' },
  );

  documented('refuses short parts before the last', async () => {
    const { part, complete } = await start('short');
    const tags = [await part(1, pattern(100)), await part(2, pattern(100))];
    const parts = tags.map(({ ETag }, index) => ({ PartNumber: index + 1, ETag }));
    await expect(complete(parts)).rejects.toMatchObject(refused('EntityTooSmall'));
  });

  documented(
    'is gone after it was aborted',
    async () => {
      const { upload, part, complete } = await start('aborted');
      const { ETag } = await part(1, pattern(10));
      await s3.client.send(new AbortMultipartUploadCommand(upload));
      await expect(part(2, pattern(10))).rejects.toMatchObject(refused('NoSuchUpload', 404));
      await expect(complete([{ PartNumber: 1, ETag }])).rejects.toMatchObject(refused('NoSuchUpload', 404));
      await expect(s3.client.send(new ListPartsCommand(upload))).rejects.toMatchObject(refused('NoSuchUpload', 404));
    },
    { moto: 'it answers with a page that is not an S3 error' },
  );

  documented('lists its parts in pages', async () => {
    const { upload, part } = await start('listed');
    await Promise.all([5, 3, 1, 4, 2].map((number) => part(number, pattern(number))));
    const first = await s3.client.send(new ListPartsCommand({ ...upload, MaxParts: 3 }));
    const marker = { PartNumberMarker: String(first.NextPartNumberMarker) };
    const rest = await s3.client.send(new ListPartsCommand({ ...upload, ...marker }));
    const sizes = [...(first.Parts ?? []), ...(rest.Parts ?? [])].map(({ PartNumber, Size }) => [PartNumber, Size]);
    expect(first.IsTruncated).toBe(true);
    expect(sizes).toEqual([1, 2, 3, 4, 5].map((number) => [number, number]));
  });
});

documented('copied parts are the bytes of the source, also when it is replaced meanwhile', async () => {
  const source = pattern(12 * mebibyte);
  const Key = 'copied';
  await s3.client.send(new PutObjectCommand({ Bucket: s3.bucket, Key: 'copied source', Body: source }));
  const { upload, part, complete } = await start(Key);
  const copy = async (PartNumber: number, CopySourceRange: string) => {
    const CopySource = `${s3.bucket}/copied%20source`;
    const command = new UploadPartCopyCommand({ ...upload, PartNumber, CopySource, CopySourceRange });
    return { PartNumber, ETag: (await s3.client.send(command)).CopyPartResult?.ETag };
  };
  const first = await part(1, Buffer.concat([Buffer.from('header'), source.subarray(0, 5 * mebibyte)]));
  const copied = [
    await copy(2, `bytes=${5 * mebibyte}-${10 * mebibyte + 16}`),
    await copy(3, `bytes=${10 * mebibyte + 17}-${source.length - 1}`),
  ];
  await s3.client.send(new PutObjectCommand({ Bucket: s3.bucket, Key: 'copied source', Body: 'another' }));
  await complete([{ PartNumber: 1, ETag: first.ETag }, ...copied]);
  const { Body } = await s3.client.send(new GetObjectCommand({ Bucket: s3.bucket, Key }));
  const bytes = Buffer.from((await Body?.transformToByteArray()) ?? []);
  expect(bytes.equals(Buffer.concat([Buffer.from('header'), source]))).toBe(true);
});

/** CRC-64/NVME of the nine digits is AE8B14860A799888 by the catalogue of parametrised CRCs. */
const nineDigits = { body: '123456789', crc: 'rosUhgp5mIg=' };

describe('CRC64NVME', () => {
  documented(
    'of a whole object is kept and told',
    async () => {
      const { body, crc } = nineDigits;
      await s3.client.send(new PutObjectCommand({ Bucket: s3.bucket, Key: 'crc', Body: body, ChecksumCRC64NVME: crc }));
      const head = new HeadObjectCommand({ Bucket: s3.bucket, Key: 'crc', ChecksumMode: 'ENABLED' });
      expect((await s3.client.send(head)).ChecksumCRC64NVME).toBe(crc);
    },
    { moto: 'it keeps no checksum' },
  );

  documented(
    'that does not fit is refused, and nothing is written',
    async () => {
      const wrong = new PutObjectCommand({
        Bucket: s3.bucket,
        Key: 'crc wrong',
        Body: '12345678X',
        ChecksumCRC64NVME: nineDigits.crc,
      });
      await expect(s3.client.send(wrong)).rejects.toMatchObject({ $metadata: { httpStatusCode: 400 } });
      const head = new HeadObjectCommand({ Bucket: s3.bucket, Key: 'crc wrong' });
      await expect(s3.client.send(head)).rejects.toMatchObject({ $metadata: { httpStatusCode: 404 } });
    },
    { moto: 'it compares no checksum' },
  );

  documented(
    'of the parts makes that of the object, which completing compares',
    async () => {
      const halves = [pattern(5 * mebibyte), pattern(1000, 3)] as const;
      const whole = Buffer.concat(halves);
      const { ChecksumCRC64NVME: expected } = await s3.client.send(
        new PutObjectCommand({ Bucket: s3.bucket, Key: 'crc whole', Body: whole, ChecksumAlgorithm: 'CRC64NVME' }),
      );
      const { part, complete } = await start('crc parts', true);
      const parts = await Promise.all(
        halves.map(async (half, index) => {
          const { ETag, ChecksumCRC64NVME } = await part(index + 1, half);
          return { PartNumber: index + 1, ETag, ChecksumCRC64NVME };
        }),
      );
      const ChecksumType = 'FULL_OBJECT';
      await expect(complete(parts, { ChecksumCRC64NVME: nineDigits.crc, ChecksumType })).rejects.toMatchObject(
        refused('BadDigest'),
      );
      await complete(parts, { ChecksumCRC64NVME: expected ?? 'none was told', ChecksumType });
      const head = new HeadObjectCommand({ Bucket: s3.bucket, Key: 'crc parts', ChecksumMode: 'ENABLED' });
      expect((await s3.client.send(head)).ChecksumCRC64NVME).toBe(expected);
    },
    { moto: 'it compares no checksum' },
  );

  documented(
    'of a copied part is that of its bytes',
    async () => {
      const source = pattern(7 * mebibyte);
      await s3.client.send(new PutObjectCommand({ Bucket: s3.bucket, Key: 'crc source', Body: source }));
      const { upload, part } = await start('crc copied', true);
      const [from, to] = [mebibyte + 5, 6 * mebibyte + 77];
      const { CopyPartResult } = await s3.client.send(
        new UploadPartCopyCommand({
          ...upload,
          PartNumber: 1,
          CopySource: `${s3.bucket}/crc%20source`,
          CopySourceRange: `bytes=${from}-${to - 1}`,
        }),
      );
      const sent = await part(2, source.subarray(from, to));
      expect(CopyPartResult?.ChecksumCRC64NVME).toBe(sent.ChecksumCRC64NVME);
      expect(sent.ChecksumCRC64NVME).toMatch(/^[A-Za-z0-9+/]{11}=$/);
    },
    { versitygw: 'it tells another value', moto: 'it tells none' },
  );
});
