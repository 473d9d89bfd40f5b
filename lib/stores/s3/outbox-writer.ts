import {
  AbortMultipartUploadCommand,
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  type ListMultipartUploadsCommandInput,
  type ListMultipartUploadsCommandOutput,
  ListPartsCommand,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import type { MultipartUpload, ObjectHead, OutboxWriter, WriteResult } from '../../archive/ports.ts';
import { errorName, storeFailure } from '../aws-failure.ts';
import type { ArchiveBuckets } from './archive-buckets.ts';
import { patient } from './client.ts';
import { checksumDamage, condition, isConflict } from './condition.ts';
import { headObject } from './head.ts';
import { S3MultipartUpload } from './multipart-upload.ts';

interface OutboxWriterOptions {
  readonly client: S3Client;
  readonly bucket: string;
  /** Buckets that server-side copies read from. @default - none: no part is copied */
  readonly archiveBuckets?: ArchiveBuckets;
  /** Media type of the objects. @default - opaque bytes: no media type is registered for Crypt4GH */
  readonly contentType?: string;
}

const what = 'the outbox bucket';
/** Longest time, in milliseconds, that all attempts to start one upload take. */
const startMs = 2 * 60_000;

/** The outbox as it is written: containers, and delivery receipts. */
export class S3OutboxWriter implements OutboxWriter {
  readonly #options: OutboxWriterOptions & { readonly contentType: string };

  constructor(options: OutboxWriterOptions) {
    this.#options = { contentType: 'application/octet-stream', ...options };
  }

  head(key: string): Promise<ObjectHead | undefined> {
    const { client, bucket } = this.#options;
    return headObject(client, { bucket, key, what });
  }

  async put(
    key: string,
    bytes: Uint8Array,
    metadata: Readonly<Record<string, string>>,
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

  async startUpload(
    key: string,
    metadata: Readonly<Record<string, string>>,
    kept: () => Promise<ReadonlySet<string>> = async () => new Set(),
  ): Promise<MultipartUpload> {
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
      if (sent.attempts !== undefined && sent.attempts > 1) await this.#abortLost(key, uploadId, kept);
      return this.#multipart(key, metadata, uploadId);
    } catch (error) {
      throw storeFailure(error, what);
    }
  }

  async resumeUpload(
    key: string,
    metadata: Readonly<Record<string, string>>,
    uploadId: string,
  ): Promise<MultipartUpload | undefined> {
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

  #multipart(key: string, metadata: Readonly<Record<string, string>>, uploadId: string): S3MultipartUpload {
    const { client, bucket, archiveBuckets } = this.#options;
    return new S3MultipartUpload({
      ...{ client, bucket, key, uploadId, metadata },
      ...(archiveBuckets && { archiveBuckets }),
    });
  }

  async abortUploads(key: string, olderThan: Date, kept: ReadonlySet<string> = new Set()): Promise<number> {
    try {
      const uploads = await this.#uploads(key);
      return await this.#abortAll(uploads.filter(({ begun, uploadId }) => begun < olderThan && !kept.has(uploadId)));
    } catch (error) {
      throw storeFailure(error, what);
    }
  }

  /**
   * Abort uploads that earlier attempts to start `uploadId` may have left: their answers, and so their ids, were lost.
   * An upload that another delivery started in those seconds, and has not recorded yet, looks the same and is aborted,
   * too; that delivery begins again.
   */
  async #abortLost(key: string, uploadId: string, kept: () => Promise<ReadonlySet<string>>): Promise<void> {
    try {
      const others = await kept();
      const uploads = await this.#uploads(key);
      const begun = uploads.find((upload) => upload.uploadId === uploadId)?.begun.getTime();
      if (begun === undefined) return;
      const isLost = (upload: Upload) => {
        const earlierMs = begun - upload.begun.getTime();
        return upload.uploadId !== uploadId && !others.has(upload.uploadId) && earlierMs >= 0 && earlierMs < startMs;
      };
      await this.#abortAll(uploads.filter(isLost));
    } catch {
      // An upload without parts costs nothing; the lifecycle rule removes it.
    }
  }

  /** @returns how many were still there */
  async #abortAll(uploads: readonly Upload[]): Promise<number> {
    const { client, bucket } = this.#options;
    let aborted = 0;
    for (const { key, uploadId } of uploads) {
      try {
        await client.send(new AbortMultipartUploadCommand({ Bucket: bucket, Key: key, UploadId: uploadId }));
        aborted += 1;
      } catch (error) {
        // Completed or aborted since it was listed.
        if (errorName(error) !== 'NoSuchUpload') throw error;
      }
    }
    return aborted;
  }

  /** Unfinished uploads of exactly this key. */
  async #uploads(key: string): Promise<readonly Upload[]> {
    const { client, bucket } = this.#options;
    const uploads: Upload[] = [];
    let from: UploadsFrom | undefined = {};
    while (from) {
      const page: ListMultipartUploadsCommandOutput = await client.send(
        new ListMultipartUploadsCommand({ Bucket: bucket, Prefix: key, ...from }),
      );
      for (const { Key, UploadId: uploadId, Initiated: begun } of page.Uploads ?? []) {
        // The listing is by prefix: `a-b.c4gh` would also find `a-b.c4gh.c4gh`.
        if (Key === key && uploadId && begun) uploads.push({ key, uploadId, begun });
      }
      from = page.IsTruncated ? next(page) : undefined;
    }
    return uploads;
  }
}

interface Upload {
  readonly key: string;
  readonly uploadId: string;
  readonly begun: Date;
}

type UploadsFrom = Pick<ListMultipartUploadsCommandInput, 'KeyMarker' | 'UploadIdMarker'>;

function next(page: ListMultipartUploadsCommandOutput): UploadsFrom | undefined {
  const { NextKeyMarker: key, NextUploadIdMarker: uploadId } = page;
  return key ? { KeyMarker: key, ...(uploadId && { UploadIdMarker: uploadId }) } : undefined;
}
