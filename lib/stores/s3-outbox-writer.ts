import {
  AbortMultipartUploadCommand,
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  type ListMultipartUploadsCommandInput,
  type ListMultipartUploadsCommandOutput,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import type { MultipartUpload, ObjectHead, OutboxWriter, WriteResult } from '../export/ports.ts';
import { errorName, storeFailure } from './aws-failure.ts';
import { patient } from './s3-client.ts';
import { condition, isConflict } from './s3-condition.ts';
import { headObject } from './s3-head.ts';
import { S3MultipartUpload } from './s3-multipart-upload.ts';

export interface OutboxWriterOptions {
  readonly client: S3Client;
  readonly bucket: string;
  /** Bucket that server-side copies read from. */
  readonly archiveBucket: string;
}

const what = 'the outbox bucket';
/** Staged containers are opaque bytes; no registered media type exists for Crypt4GH. */
const contentType = 'application/octet-stream';

/** The outbox as `stage-file` writes it. */
export class S3OutboxWriter implements OutboxWriter {
  readonly #options: OutboxWriterOptions;

  constructor(options: OutboxWriterOptions) {
    this.#options = options;
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
  ): Promise<WriteResult> {
    const { client, bucket } = this.#options;
    try {
      await client.send(
        new PutObjectCommand({
          Bucket: bucket,
          Key: key,
          Body: bytes,
          ContentType: contentType,
          Metadata: metadata,
          ...condition(replaces),
        }),
        patient,
      );
      return 'written';
    } catch (error) {
      if (isConflict(error)) return 'conflict';
      throw storeFailure(error, what);
    }
  }

  async startUpload(key: string, metadata: Readonly<Record<string, string>>): Promise<MultipartUpload> {
    const { client, bucket, archiveBucket } = this.#options;
    try {
      const { UploadId: uploadId } = await client.send(
        new CreateMultipartUploadCommand({ Bucket: bucket, Key: key, ContentType: contentType, Metadata: metadata }),
      );
      if (!uploadId) throw new TypeError('S3 started a multipart upload without an id');
      return new S3MultipartUpload({ client, bucket, archiveBucket, key, uploadId, metadata });
    } catch (error) {
      throw storeFailure(error, what);
    }
  }

  async abortUploads(key: string, olderThan: Date): Promise<number> {
    const { client, bucket } = this.#options;
    let aborted = 0;
    try {
      for await (const uploadId of this.#uploads(key, olderThan)) {
        await client
          .send(new AbortMultipartUploadCommand({ Bucket: bucket, Key: key, UploadId: uploadId }))
          .then(() => {
            aborted += 1;
          })
          .catch((error: unknown) => {
            // Completed or aborted since it was listed.
            if (errorName(error) !== 'NoSuchUpload') throw error;
          });
      }
      return aborted;
    } catch (error) {
      throw storeFailure(error, what);
    }
  }

  /** Ids of unfinished uploads of exactly this key that were begun before `olderThan`. */
  async *#uploads(key: string, olderThan: Date): AsyncGenerator<string> {
    const { client, bucket } = this.#options;
    let from: UploadsFrom | undefined = {};
    while (from) {
      const page: ListMultipartUploadsCommandOutput = await client.send(
        new ListMultipartUploadsCommand({ Bucket: bucket, Prefix: key, ...from }),
      );
      for (const upload of page.Uploads ?? []) {
        // The listing is by prefix: `a-b.c4gh` would also find `a-b.c4gh.c4gh`.
        const begun = upload.Key === key && upload.Initiated && upload.Initiated < olderThan;
        if (begun && upload.UploadId) yield upload.UploadId;
      }
      from = page.IsTruncated ? next(page) : undefined;
    }
  }
}

type UploadsFrom = Pick<ListMultipartUploadsCommandInput, 'KeyMarker' | 'UploadIdMarker'>;

function next(page: ListMultipartUploadsCommandOutput): UploadsFrom | undefined {
  const { NextKeyMarker: key, NextUploadIdMarker: uploadId } = page;
  return key ? { KeyMarker: key, ...(uploadId && { UploadIdMarker: uploadId }) } : undefined;
}
