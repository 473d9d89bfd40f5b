import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  type S3Client,
  UploadPartCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3';
import { isOfSameWrite } from '../../../contract/outbox-key.ts';
import type { ByteRange } from '../../../crypt4gh/index.ts';
import { TemporarilyUnavailableError } from '../../../errors.ts';
import type {
  ContainerSource,
  MultipartUpload,
  ObjectHead,
  ObjectMetadata,
  UploadedPart,
  WriteResult,
} from '../../archive/ports.ts';
import { errorName, isTransient, storeFailure } from '../aws-failure.ts';
import { patient } from '../clients.ts';
import { bodyDamage } from './archive.ts';
import { type ArchiveBuckets, bucketAt, copySource } from './archive-buckets.ts';
import { checksumDamage, condition, headObject, isConflict } from './head.ts';

interface MultipartUploadOptions {
  readonly client: S3Client;
  readonly bucket: string;
  /** @default - none: no part is copied */
  readonly archiveBuckets?: ArchiveBuckets;
  readonly key: string;
  readonly uploadId: string;
  /** Metadata the upload was started with; request id and generation tell our object from another one. */
  readonly metadata: ObjectMetadata;
}

const what = 'the outbox bucket';
/** The checksum of the bytes that a part is sent with. The upload began with the same algorithm. */
const checksums = { ChecksumAlgorithm: 'CRC64NVME' } as const;

/** One multipart upload to the outbox. Parts may be sent in any order and at the same time. */
export class S3MultipartUpload implements MultipartUpload {
  readonly #options: MultipartUploadOptions;

  constructor(options: MultipartUploadOptions) {
    this.#options = options;
  }

  get uploadId(): string {
    return this.#options.uploadId;
  }

  async uploadPart(partNumber: number, bytes: Uint8Array): Promise<UploadedPart> {
    try {
      const result = await this.#options.client.send(
        new UploadPartCommand({ ...this.#address(), PartNumber: partNumber, Body: bytes, ...checksums }),
        patient,
      );
      return uploadedPart(partNumber, result);
    } catch (error) {
      throw partFailure(error);
    }
  }

  /** @throws ArchiveDamagedError when the body is gone, was replaced or is shorter than the range; ArchiveLocationUnknownError */
  async copyPart(partNumber: number, source: ContainerSource, { start, end }: ByteRange): Promise<UploadedPart> {
    const { archiveLocation, archiveFilePath } = source.address;
    const { archiveBuckets } = this.#options;
    if (!archiveBuckets) throw new TypeError('this upload was started without archive buckets to copy from');
    const bucket = bucketAt(archiveLocation, archiveBuckets);
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
      return uploadedPart(partNumber, result);
    } catch (error) {
      // NoSuchUpload is a 404 too, and says nothing about the body.
      const damage =
        errorName(error) === 'NoSuchUpload' ? undefined : bodyDamage(error, `${bucket}/${archiveFilePath}`);
      throw damage ?? partFailure(error);
    }
  }

  /**
   * S3 refuses (`InvalidRequest`) when the parts do not add up to `size`. A success is checked once more by HeadObject,
   * and the same HeadObject shows what became of a lost answer: a repeated Complete finds the upload gone, or its own
   * object in the way.
   *
   * @throws TemporarilyUnavailableError when the upload was not completed and a new one may succeed.
   */
  async complete(
    parts: readonly UploadedPart[],
    size: number,
    replaces: string | undefined,
    crc64nvme?: string,
  ): Promise<WriteResult> {
    try {
      await this.#options.client.send(
        new CompleteMultipartUploadCommand({
          ...this.#address(),
          ...condition(replaces),
          MpuObjectSize: size,
          ...(crc64nvme && { ChecksumCRC64NVME: crc64nvme, ChecksumType: 'FULL_OBJECT' }),
          MultipartUpload: {
            Parts: parts.map((part) => ({
              PartNumber: part.partNumber,
              ETag: part.etag,
              ...(part.crc64nvme && { ChecksumCRC64NVME: part.crc64nvme }),
            })),
          },
        }),
        patient,
      );
    } catch (error) {
      return this.#outcomeOfFailed(error, size);
    }
    const head = await this.#head();
    // Later overwrites and deletions don't matter.
    if (head && this.#isOurs(head) && head.size !== size) {
      throw new Error(`S3 completed an upload with ${head.size} bytes, expected ${size}`);
    }
    return 'written';
  }

  /** The outcome of a failed Complete: written all the same, or overtaken by another writer, or the error to throw. */
  async #outcomeOfFailed(error: unknown, size: number): Promise<WriteResult> {
    const gone = errorName(error) === 'NoSuchUpload';
    const conflict = !gone && isConflict(error);
    if (!gone && !conflict && !isTransient(error)) {
      // No other delivery can complete these parts.
      await this.abort();
      throw checksumDamage(error) ?? partFailure(error);
    }
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

  #head(): Promise<ObjectHead | undefined> {
    const { client, bucket, key } = this.#options;
    return headObject(client, { bucket, key, what });
  }

  #isOurs(head: ObjectHead): boolean {
    return isOfSameWrite(head.metadata, this.#options.metadata);
  }

  #address(): { Bucket: string; Key: string; UploadId: string } {
    const { bucket, key, uploadId } = this.#options;
    return { Bucket: bucket, Key: key, UploadId: uploadId };
  }
}

/** S3 tells a checksum of each part of an upload that began with one. */
function uploadedPart(
  partNumber: number,
  result: { readonly ETag?: string | undefined; readonly ChecksumCRC64NVME?: string | undefined } | undefined,
): UploadedPart {
  if (!result?.ETag) throw new TypeError(`S3 took part ${partNumber} without an ETag`);
  return { partNumber, etag: result.ETag, crc64nvme: result.ChecksumCRC64NVME };
}

/** `InvalidPart`: another delivery has sent a part again since this one recorded it. */
const lost = new Set(['InvalidPart', 'NoSuchUpload']);

/** Without its upload or a part of it, this delivery must begin again. */
function partFailure(error: unknown): unknown {
  if (lost.has(errorName(error))) {
    return new TemporarilyUnavailableError('the multipart upload was aborted or changed', { cause: error });
  }
  return storeFailure(error, what);
}
