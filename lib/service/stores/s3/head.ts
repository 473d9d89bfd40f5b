import { HeadObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { type DataOutError, damaged } from '../../../errors.ts';
import type { ObjectHead } from '../../archive/ports.ts';
import { errorName, errorStatus, storeFailure } from '../aws-failure.ts';

/**
 * HeadObject; `undefined` when there is no such object.
 *
 * @param object.what names the bucket's purpose in error texts
 * @param object.checksum also ask for the checksum: S3 then wants the right to decrypt the object
 */
export async function headObject(
  client: S3Client,
  object: { readonly bucket: string; readonly key: string; readonly what: string; readonly checksum?: boolean },
): Promise<ObjectHead | undefined> {
  try {
    const head = await client.send(
      new HeadObjectCommand({
        Bucket: object.bucket,
        Key: object.key,
        ChecksumMode: object.checksum ? 'ENABLED' : undefined,
      }),
    );
    if (head.ContentLength === undefined || !head.ETag || !head.LastModified) {
      throw new TypeError('S3 described an object without size, ETag or date');
    }
    return {
      size: head.ContentLength,
      etag: head.ETag,
      lastModified: head.LastModified,
      metadata: head.Metadata ?? {},
      crc64nvme: head.ChecksumCRC64NVME,
    };
  } catch (error) {
    // A HEAD has no body, so there is no error code to read: the status is all.
    if (errorStatus(error) === 404) return undefined;
    throw storeFailure(error, object.what);
  }
}

/** Condition of a write: replace the object with this ETag and no other, or, with `undefined`, replace nothing. */
export function condition(replaces: string | undefined): { IfMatch: string } | { IfNoneMatch: string } {
  return replaces === undefined ? { IfNoneMatch: '*' } : { IfMatch: replaces };
}

/**
 * Whether S3 refused a conditional write because the key holds something else: 412 (another ETag, or an object where
 * there should be none), 409 (a delete at the same moment won), 404 (nothing left to match).
 */
export function isConflict(error: unknown): boolean {
  const status = errorStatus(error);
  const name = errorName(error);
  return status === 412 || name === 'ConditionalRequestConflict' || (status === 404 && name === 'NoSuchKey');
}

/** The damage that S3's refusal of a checksum shows; `undefined` for other errors. */
export function checksumDamage(error: unknown): DataOutError | undefined {
  if (errorName(error) !== 'BadDigest') return undefined;
  return damaged('the container would not have the CRC-64/NVME that follows from the archived body');
}
