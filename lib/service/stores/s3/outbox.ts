import {
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  PutObjectCommand,
  paginateListObjectsV2,
  type S3Client,
} from '@aws-sdk/client-s3';
import { directPrefix, parseDirectKey } from '../../../contract/direct-key.ts';
import type { MultipartUpload, ObjectHead, ObjectMetadata, WriteResult } from '../../archive/ports.ts';
import { errorStatus, storeFailure } from '../aws-failure.ts';
import type { ArchiveBuckets } from './archive.ts';
import { checksumDamage, condition, headObject, isConflict } from './head.ts';
import { s3MultipartUpload } from './multipart-upload.ts';

interface OutboxOptions {
  readonly client: S3Client;
  readonly bucket: string;
  /** Buckets that server-side copies read from. @default - none: no part is copied */
  readonly archiveBuckets?: ArchiveBuckets;
  /** Media type of the objects. @default - opaque bytes: no media type is registered for Crypt4GH */
  readonly contentType?: string;
}

const what = 'the outbox bucket';

/** The outbox bucket as containers and delivery receipts are written to it (see `OutboxWriter`) and removed from it. */
export function s3Outbox({ client, bucket, archiveBuckets, contentType = 'application/octet-stream' }: OutboxOptions) {
  const upload = (key: string, metadata: ObjectMetadata, uploadId: string): MultipartUpload =>
    s3MultipartUpload({ client, bucket, archiveBuckets, key, uploadId, metadata });

  async function* keysBelow(Prefix: string): AsyncGenerator<readonly string[]> {
    try {
      for await (const { Contents: objects = [] } of paginateListObjectsV2({ client }, { Bucket: bucket, Prefix }))
        yield objects.flatMap(({ Key }) => Key ?? []);
    } catch (error) {
      throw storeFailure(error, what);
    }
  }

  return {
    /** @param options.checksum also ask for the CRC-64/NVME. S3 then wants the right to decrypt the object */
    head: (key: string, options?: { readonly checksum: boolean }): Promise<ObjectHead | undefined> =>
      headObject(client, { bucket, key, what, ...options }),

    async put(
      key: string,
      bytes: Uint8Array,
      metadata: ObjectMetadata,
      replaces: string | undefined,
      crc64nvme?: string,
    ): Promise<WriteResult> {
      const command = new PutObjectCommand({
        Bucket: bucket,
        Key: key,
        Body: bytes,
        ContentType: contentType,
        Metadata: metadata,
        ...condition(replaces),
        ChecksumCRC64NVME: crc64nvme,
      });
      try {
        await client.send(command);
        return 'written';
      } catch (error) {
        if (isConflict(error)) return 'conflict';
        throw checksumDamage(error) ?? storeFailure(error, what);
      }
    },

    /** Delete the object while its ETag is `etag`. `replaced`: the key has another object, which stays. */
    async remove(key: string, etag: string): Promise<'removed' | 'gone' | 'replaced'> {
      try {
        await client.send(new DeleteObjectCommand({ Bucket: bucket, Key: key, IfMatch: etag }));
        return 'removed';
      } catch (error) {
        if (errorStatus(error) === 404) return 'gone';
        if (isConflict(error)) return 'replaced';
        throw storeFailure(error, what);
      }
    },

    async startUpload(key: string, metadata: ObjectMetadata): Promise<MultipartUpload> {
      const command = new CreateMultipartUploadCommand({
        Bucket: bucket,
        Key: key,
        ContentType: contentType,
        Metadata: metadata,
        ChecksumAlgorithm: 'CRC64NVME',
        ChecksumType: 'FULL_OBJECT',
      });
      try {
        const { UploadId: uploadId } = await client.send(command);
        if (!uploadId) throw new TypeError('S3 started a multipart upload without an id');
        return upload(key, metadata, uploadId);
      } catch (error) {
        throw storeFailure(error, what);
      }
    },

    /** An upload that began earlier, with the same metadata. S3 may no longer have it. */
    upload,

    /** All keys of one recipient's part, page after page. @param recipient outbox prefix */
    keysOf: (recipient: string) => keysBelow(`${recipient}/`),

    /** Keys of the short-lived containers of the direct API, page after page. */
    async *directKeys(): AsyncGenerator<readonly string[]> {
      for await (const keys of keysBelow(directPrefix)) yield keys.filter((key) => parseDirectKey(key));
    },
  };
}
export type Outbox = ReturnType<typeof s3Outbox>;
