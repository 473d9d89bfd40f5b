import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  ListPartsCommand,
  type S3Client,
  UploadPartCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3';
import { isOfSameWrite } from '../../../contract/outbox-key.ts';
import { unavailable } from '../../../errors.ts';
import type { MultipartUpload, ObjectHead, ObjectMetadata, UploadedPart, WriteResult } from '../../archive/ports.ts';
import { errorName, isTransient, storeFailure } from '../aws-failure.ts';
import { patient } from '../clients.ts';
import { type ArchiveBuckets, bodyDamage, bucketAt, copySource } from './archive.ts';
import { checksumDamage, condition, headObject, isConflict } from './head.ts';

interface MultipartUploadOptions {
  readonly client: S3Client;
  readonly bucket: string;
  /** `undefined`: no part is copied. */
  readonly archiveBuckets: ArchiveBuckets | undefined;
  readonly key: string;
  readonly uploadId: string;
  /** Metadata the upload was started with; request id and generation tell our object from another one. */
  readonly metadata: ObjectMetadata;
}

const what = 'the outbox bucket';
/** The checksum of the bytes that a part is sent with. The upload began with the same algorithm. */
const checksums = { ChecksumAlgorithm: 'CRC64NVME' } as const;

/** One multipart upload to the outbox. Parts may be sent in any order and at the same time. */
export function s3MultipartUpload(options: MultipartUploadOptions): MultipartUpload {
  const { client, bucket, archiveBuckets, key, uploadId, metadata } = options;
  const address = { Bucket: bucket, Key: key, UploadId: uploadId };
  const isOurs = (head: ObjectHead) => isOfSameWrite(head.metadata, metadata);

  async function abort(): Promise<void> {
    await client.send(new AbortMultipartUploadCommand(address)).catch(() => undefined);
  }

  /** The outcome of a failed Complete: written anyway, or overtaken by another writer, or the error to throw. */
  async function outcomeOfFailed(error: unknown, size: number): Promise<WriteResult> {
    const gone = errorName(error) === 'NoSuchUpload';
    const conflict = !gone && isConflict(error);
    if (!gone && !conflict && !isTransient(error) && errorName(error) !== 'InvalidPart') {
      // No other delivery can complete these parts.
      await abort();
      throw checksumDamage(error) ?? partFailure(error);
    }
    const head = await headObject(client, { bucket, key, what });
    if (head && isOurs(head) && head.size === size) {
      // Another delivery of the same message may have written it. Then our parts still exist.
      await abort();
      return 'written';
    }
    if (conflict) return 'conflict';
    throw partFailure(error);
  }

  return {
    uploadId,
    abort,

    async uploadPart(partNumber, bytes) {
      try {
        const command = new UploadPartCommand({ ...address, PartNumber: partNumber, Body: bytes, ...checksums });
        return uploadedPart(partNumber, await client.send(command, patient));
      } catch (error) {
        throw partFailure(error);
      }
    },

    /** @throws `archive_damaged` when the body is gone or is shorter than the range; `temporarily_unavailable` when it was replaced */
    async copyPart(partNumber, { address: { archiveLocation, archiveFilePath }, archiveEtag }, { start, end }) {
      if (!archiveBuckets) throw new TypeError('this upload was started without archive buckets to copy from');
      const source = bucketAt(archiveLocation, archiveBuckets);
      const command = new UploadPartCopyCommand({
        ...address,
        PartNumber: partNumber,
        CopySource: copySource(source, archiveFilePath),
        CopySourceIfMatch: archiveEtag,
        CopySourceRange: `bytes=${start}-${end - 1}`,
      });
      try {
        return uploadedPart(partNumber, (await client.send(command, patient)).CopyPartResult);
      } catch (error) {
        // NoSuchUpload is also a 404, and says nothing about the body.
        const isBody = errorName(error) !== 'NoSuchUpload';
        throw (isBody && bodyDamage(error, `${source}/${archiveFilePath}`)) || partFailure(error);
      }
    },

    /** S3 advises against completing from this list, because a part can be replaced; here each number has one possible content. */
    async parts() {
      const found: UploadedPart[] = [];
      try {
        // The SDK's paginator follows a marker that is also given with the last page, and so would never end.
        for (let marker: string | undefined; ; ) {
          const page = await client.send(new ListPartsCommand({ ...address, PartNumberMarker: marker }));
          for (const { PartNumber: partNumber, ...part } of page.Parts ?? []) {
            if (partNumber !== undefined) found.push(uploadedPart(partNumber, part));
          }
          if (!page.IsTruncated) return found;
          marker = page.NextPartNumberMarker;
        }
      } catch (error) {
        if (errorName(error) === 'NoSuchUpload') return undefined;
        throw storeFailure(error, what);
      }
    },

    /**
     * S3 refuses (`InvalidRequest`) when the parts do not add up to `size`. A success is checked once more by HeadObject,
     * and the same HeadObject shows what happened to a lost answer: a repeated Complete finds the upload gone, or its own
     * object in the way.
     *
     * @throws `temporarily_unavailable` when the upload was not completed and a new one may succeed
     */
    async complete(parts, size, replaces, crc64nvme) {
      const command = new CompleteMultipartUploadCommand({
        ...address,
        ...condition(replaces),
        MpuObjectSize: size,
        ...(crc64nvme && { ChecksumCRC64NVME: crc64nvme, ChecksumType: 'FULL_OBJECT' }),
        MultipartUpload: {
          Parts: parts.map((part) => ({
            PartNumber: part.partNumber,
            ETag: part.etag,
            ChecksumCRC64NVME: part.crc64nvme,
          })),
        },
      });
      try {
        await client.send(command, patient);
      } catch (error) {
        return outcomeOfFailed(error, size);
      }
      const head = await headObject(client, { bucket, key, what });
      // Later overwrites and deletions don't matter.
      if (head && isOurs(head) && head.size !== size) {
        throw new Error(`S3 completed an upload with ${head.size} bytes, expected ${size}`);
      }
      return 'written';
    },
  };
}

/** S3 tells a checksum of each part of an upload that began with one. */
function uploadedPart(
  partNumber: number,
  result: { readonly ETag?: string | undefined; readonly ChecksumCRC64NVME?: string | undefined } | undefined,
): UploadedPart {
  if (!result?.ETag) throw new TypeError(`S3 took part ${partNumber} without an ETag`);
  return { partNumber, etag: result.ETag, crc64nvme: result.ChecksumCRC64NVME };
}

/** `InvalidPart`: another delivery has copied a part again, which gives it another ETag. The next one lists the parts again. */
const lost = new Set(['InvalidPart', 'NoSuchUpload']);

function partFailure(error: unknown): unknown {
  if (lost.has(errorName(error))) {
    return unavailable('the multipart upload was aborted or changed', { cause: error });
  }
  return storeFailure(error, what);
}
