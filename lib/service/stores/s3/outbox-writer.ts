import { CreateMultipartUploadCommand, ListPartsCommand, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import type { KeptUploads, ObjectMetadata, OutboxWriter } from '../../archive/ports.ts';
import { errorName, storeFailure } from '../aws-failure.ts';
import { patient } from '../clients.ts';
import type { ArchiveBuckets } from './archive.ts';
import { checksumDamage, condition, headObject, isConflict } from './head.ts';
import { s3MultipartUpload } from './multipart-upload.ts';
import { abortAll, type UnfinishedUpload, unfinishedUploads } from './unfinished-uploads.ts';

interface OutboxWriterOptions {
  readonly client: S3Client;
  readonly bucket: string;
  /** Buckets that server-side copies read from. @default - none: no part is copied */
  readonly archiveBuckets?: ArchiveBuckets;
  /** Media type of the objects. @default - opaque bytes: no media type is registered for Crypt4GH */
  readonly contentType?: string;
}

const what = 'the outbox bucket';
const startMs = 2 * 60_000;

/** The outbox as it is written: containers, and delivery receipts. */
export function s3OutboxWriter(options: OutboxWriterOptions): OutboxWriter {
  const { client, bucket, archiveBuckets, contentType = 'application/octet-stream' } = options;
  const upload = (key: string, metadata: ObjectMetadata, uploadId: string) =>
    s3MultipartUpload({ client, bucket, archiveBuckets, key, uploadId, metadata });

  /**
   * Abort uploads that earlier attempts to start `uploadId` may have left: their answers, and so their ids, were lost.
   * An upload that another delivery started in those seconds, and has not recorded yet, looks the same and is also
   * aborted; that delivery begins again.
   */
  async function abortLost(key: string, uploadId: string, kept: KeptUploads): Promise<void> {
    try {
      const others = await kept();
      const uploads = await unfinishedUploads(client, bucket, key);
      const begun = uploads.find((started) => started.uploadId === uploadId)?.begun.getTime();
      if (begun === undefined) return;
      const isLost = (other: UnfinishedUpload) => {
        const earlierMs = begun - other.begun.getTime();
        return other.uploadId !== uploadId && !others.has(other.uploadId) && earlierMs >= 0 && earlierMs < startMs;
      };
      await abortAll(client, bucket, uploads.filter(isLost));
    } catch {
      // An upload without parts costs nothing; the lifecycle rule removes it.
    }
  }

  return {
    head: (key) => headObject(client, { bucket, key, what, checksum: true }),

    async put(key, bytes, metadata, replaces, crc64nvme) {
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
        await client.send(command, patient);
        return 'written';
      } catch (error) {
        if (isConflict(error)) return 'conflict';
        throw checksumDamage(error) ?? storeFailure(error, what);
      }
    },

    async startUpload(key, metadata, kept) {
      const command = new CreateMultipartUploadCommand({
        Bucket: bucket,
        Key: key,
        ContentType: contentType,
        Metadata: metadata,
        ChecksumAlgorithm: 'CRC64NVME',
        ChecksumType: 'FULL_OBJECT',
      });
      try {
        const { UploadId: uploadId, $metadata: sent } = await client.send(command);
        if (!uploadId) throw new TypeError('S3 started a multipart upload without an id');
        if (kept && sent.attempts !== undefined && sent.attempts > 1) await abortLost(key, uploadId, kept);
        return upload(key, metadata, uploadId);
      } catch (error) {
        throw storeFailure(error, what);
      }
    },

    async resumeUpload(key, metadata, uploadId) {
      try {
        // Only whether it lives: S3 advises against completing from this list.
        await client.send(new ListPartsCommand({ Bucket: bucket, Key: key, UploadId: uploadId, MaxParts: 1 }));
        return upload(key, metadata, uploadId);
      } catch (error) {
        if (errorName(error) === 'NoSuchUpload') return undefined;
        throw storeFailure(error, what);
      }
    },

    abortUpload: (key, uploadId) => upload(key, {}, uploadId).abort(),

    async abortUploads(key, olderThan, kept = new Set()) {
      try {
        const uploads = await unfinishedUploads(client, bucket, key);
        const old = uploads.filter(({ begun, uploadId }) => begun < olderThan && !kept.has(uploadId));
        return await abortAll(client, bucket, old);
      } catch (error) {
        throw storeFailure(error, what);
      }
    },
  };
}
