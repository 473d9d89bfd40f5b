import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  type S3Client,
  UploadPartCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3';
import type { ContainerSource, MultipartUpload, ObjectHead, WriteResult } from '../../archive/ports.ts';
import type { ByteRange } from '../../contract/byte-range.ts';
import { outboxMetadata } from '../../contract/outbox-key.ts';
import { TemporarilyUnavailableError } from '../../errors.ts';
import { errorName, isTransient, storeFailure } from '../aws-failure.ts';
import { bodyDamage } from './archive.ts';
import { type ArchiveBuckets, bucketAt } from './archive-buckets.ts';
import { patient } from './client.ts';
import { condition, isConflict } from './condition.ts';
import { copySource } from './copy-source.ts';
import { headObject } from './head.ts';

interface MultipartUploadOptions {
  readonly client: S3Client;
  readonly bucket: string;
  readonly archiveBuckets: ArchiveBuckets;
  readonly key: string;
  readonly uploadId: string;
  /** Metadata the upload was started with; its request id tells our object from another request's. */
  readonly metadata: Readonly<Record<string, string>>;
}

const what = 'the outbox bucket';

/** One multipart upload to the outbox. Parts may be sent in any order and at the same time. */
export class S3MultipartUpload implements MultipartUpload {
  readonly #options: MultipartUploadOptions;
  /** Our own list of parts: S3 advises against ListParts for that. */
  readonly #parts = new Map<number, CompletedPart>();

  constructor(options: MultipartUploadOptions) {
    this.#options = options;
  }

  async uploadPart(partNumber: number, bytes: Uint8Array): Promise<void> {
    try {
      const { ETag } = await this.#options.client.send(
        new UploadPartCommand({ ...this.#address(), PartNumber: partNumber, Body: bytes }),
        patient,
      );
      this.#remember(partNumber, ETag);
    } catch (error) {
      throw partFailure(error);
    }
  }

  /** @throws ArchiveDamagedError when the body is gone, was replaced or is shorter than the range; ArchiveLocationUnknownError */
  async copyPart(partNumber: number, source: ContainerSource, { start, end }: ByteRange): Promise<void> {
    const { archiveLocation, archiveFilePath } = source.address;
    const bucket = bucketAt(archiveLocation, this.#options.archiveBuckets);
    try {
      const { CopyPartResult: result } = await this.#options.client.send(
        new UploadPartCopyCommand({
          ...this.#address(),
          PartNumber: partNumber,
          CopySource: copySource(bucket, archiveFilePath),
          CopySourceIfMatch: source.archiveEtag,
          CopySourceRange: `bytes=${start}-${end - 1}`,
        }),
        patient,
      );
      this.#remember(partNumber, result?.ETag);
    } catch (error) {
      // NoSuchUpload is a 404 too, and says nothing about the body.
      const damage = errorName(error) === 'NoSuchUpload' ? undefined : bodyDamage(error);
      throw damage ?? partFailure(error);
    }
  }

  /**
   * S3 refuses (`InvalidRequest`) when the parts do not add up to `size`. A success is checked once more by HeadObject,
   * and the same HeadObject settles an answer that was lost: a repeated Complete finds the upload gone, or its own
   * object in the way.
   *
   * @throws TemporarilyUnavailableError when the upload was not completed and a new one may succeed.
   */
  async complete(size: number, replaces: string | undefined): Promise<WriteResult> {
    try {
      await this.#options.client.send(
        new CompleteMultipartUploadCommand({
          ...this.#address(),
          ...condition(replaces),
          MpuObjectSize: size,
          MultipartUpload: { Parts: this.#partsInOrder() },
        }),
        patient,
      );
    } catch (error) {
      return this.#settle(error, size);
    }
    const head = await this.#head();
    // Later overwrites and deletions don't matter.
    if (head && this.#isOurs(head) && head.size !== size) {
      throw new Error(`S3 completed an upload with ${head.size} bytes, expected ${size}`);
    }
    return 'written';
  }

  /** The outcome of a failed Complete: written all the same, or overtaken by another writer, or the error to throw. */
  async #settle(error: unknown, size: number): Promise<WriteResult> {
    const gone = errorName(error) === 'NoSuchUpload';
    const conflict = !gone && isConflict(error);
    if (!gone && !conflict && !isTransient(error)) throw error;
    const head = await this.#head();
    if (head && this.#isOurs(head) && head.size === size) {
      // Another delivery of the same message may have written it. Then our parts are still there.
      await this.abort();
      return 'written';
    }
    if (conflict) return 'conflict';
    throw partFailure(error);
  }

  async abort(): Promise<void> {
    await this.#options.client.send(new AbortMultipartUploadCommand(this.#address())).catch(() => undefined);
  }

  #partsInOrder(): CompletedPart[] {
    return [...this.#parts.entries()].sort(([a], [b]) => a - b).map(([, part]) => part);
  }

  #head(): Promise<ObjectHead | undefined> {
    const { client, bucket, key } = this.#options;
    return headObject(client, { bucket, key, what });
  }

  #isOurs(head: ObjectHead): boolean {
    const { requestId } = outboxMetadata;
    return head.metadata[requestId] === this.#options.metadata[requestId];
  }

  #address(): { Bucket: string; Key: string; UploadId: string } {
    const { bucket, key, uploadId } = this.#options;
    return { Bucket: bucket, Key: key, UploadId: uploadId };
  }

  #remember(partNumber: number, etag: string | undefined): void {
    if (!etag) throw new TypeError(`S3 took part ${partNumber} without an ETag`);
    this.#parts.set(partNumber, { PartNumber: partNumber, ETag: etag });
  }
}

/** A missing upload was aborted by another invocation of the same export. This one begins again later. */
function partFailure(error: unknown): unknown {
  if (errorName(error) === 'NoSuchUpload') {
    return new TemporarilyUnavailableError('the multipart upload was aborted', { cause: error });
  }
  return storeFailure(error, what);
}
