import { CreateMultipartUploadCommand, ListPartsCommand, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import type {
  KeptUploads,
  MultipartUpload,
  ObjectHead,
  ObjectMetadata,
  OutboxWriter,
  WriteResult,
} from '../../archive/ports.ts';
import { errorName, storeFailure } from '../aws-failure.ts';
import { patient } from '../clients.ts';
import type { ArchiveBuckets } from './archive-buckets.ts';
import { checksumDamage, condition, headObject, isConflict } from './head.ts';
import { S3MultipartUpload } from './multipart-upload.ts';
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
export class S3OutboxWriter implements OutboxWriter {
  readonly #options: OutboxWriterOptions & { readonly contentType: string };

  constructor(options: OutboxWriterOptions) {
    this.#options = { contentType: 'application/octet-stream', ...options };
  }

  head(key: string): Promise<ObjectHead | undefined> {
    const { client, bucket } = this.#options;
    return headObject(client, { bucket, key, what, checksum: true });
  }

  async put(
    key: string,
    bytes: Uint8Array,
    metadata: ObjectMetadata,
    replaces: string | undefined,
    crc64nvme?: string,
  ): Promise<WriteResult> {
    const { client, bucket, contentType } = this.#options;
    try {
      await client.send(
        new PutObjectCommand({
          Bucket: bucket,
          Key: key,
          Body: bytes,
          ContentType: contentType,
          Metadata: metadata,
          ...condition(replaces),
          ...(crc64nvme && { ChecksumCRC64NVME: crc64nvme }),
        }),
        patient,
      );
      return 'written';
    } catch (error) {
      if (isConflict(error)) return 'conflict';
      throw checksumDamage(error) ?? storeFailure(error, what);
    }
  }

  async startUpload(key: string, metadata: ObjectMetadata, kept?: KeptUploads): Promise<MultipartUpload> {
    const { client, bucket, contentType } = this.#options;
    try {
      const { UploadId: uploadId, $metadata: sent } = await client.send(
        new CreateMultipartUploadCommand({
          Bucket: bucket,
          Key: key,
          ContentType: contentType,
          Metadata: metadata,
          ChecksumAlgorithm: 'CRC64NVME',
          ChecksumType: 'FULL_OBJECT',
        }),
      );
      if (!uploadId) throw new TypeError('S3 started a multipart upload without an id');
      if (kept && sent.attempts !== undefined && sent.attempts > 1) await this.#abortLost(key, uploadId, kept);
      return this.#multipart(key, metadata, uploadId);
    } catch (error) {
      throw storeFailure(error, what);
    }
  }

  async resumeUpload(key: string, metadata: ObjectMetadata, uploadId: string): Promise<MultipartUpload | undefined> {
    const { client, bucket } = this.#options;
    try {
      // Only whether it lives: S3 advises against completing from this list.
      await client.send(new ListPartsCommand({ Bucket: bucket, Key: key, UploadId: uploadId, MaxParts: 1 }));
      return this.#multipart(key, metadata, uploadId);
    } catch (error) {
      if (errorName(error) === 'NoSuchUpload') return undefined;
      throw storeFailure(error, what);
    }
  }

  async abortUpload(key: string, uploadId: string): Promise<void> {
    await this.#multipart(key, {}, uploadId).abort();
  }

  #multipart(key: string, metadata: ObjectMetadata, uploadId: string): S3MultipartUpload {
    const { client, bucket, archiveBuckets } = this.#options;
    return new S3MultipartUpload({
      ...{ client, bucket, key, uploadId, metadata },
      ...(archiveBuckets && { archiveBuckets }),
    });
  }

  async abortUploads(key: string, olderThan: Date, kept: ReadonlySet<string> = new Set()): Promise<number> {
    const { client, bucket } = this.#options;
    try {
      const uploads = await unfinishedUploads(client, bucket, key);
      const old = uploads.filter(({ begun, uploadId }) => begun < olderThan && !kept.has(uploadId));
      return await abortAll(client, bucket, old);
    } catch (error) {
      throw storeFailure(error, what);
    }
  }

  /**
   * Abort uploads that earlier attempts to start `uploadId` may have left: their answers, and so their ids, were lost.
   * An upload that another delivery started in those seconds, and has not recorded yet, looks the same and is aborted,
   * too; that delivery begins again.
   */
  async #abortLost(key: string, uploadId: string, kept: KeptUploads): Promise<void> {
    const { client, bucket } = this.#options;
    try {
      const others = await kept();
      const uploads = await unfinishedUploads(client, bucket, key);
      const begun = uploads.find((upload) => upload.uploadId === uploadId)?.begun.getTime();
      if (begun === undefined) return;
      const isLost = (upload: UnfinishedUpload) => {
        const earlierMs = begun - upload.begun.getTime();
        return upload.uploadId !== uploadId && !others.has(upload.uploadId) && earlierMs >= 0 && earlierMs < startMs;
      };
      await abortAll(client, bucket, uploads.filter(isLost));
    } catch {
      // An upload without parts costs nothing; the lifecycle rule removes it.
    }
  }
}
