import { HeadObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import type { ObjectHead } from '../../archive/ports.ts';
import { errorStatus, storeFailure } from '../aws-failure.ts';

/**
 * HeadObject; `undefined` when there is no such object.
 *
 * @param object.what names the bucket's purpose in error texts
 * @param object.checksum ask for the checksum, too: S3 then wants the right to decrypt the object
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
        ...(object.checksum && { ChecksumMode: 'ENABLED' }),
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
      ...(head.ChecksumCRC64NVME && { crc64nvme: head.ChecksumCRC64NVME }),
    };
  } catch (error) {
    // A HEAD has no body, so there is no error code to read: the status is all.
    if (errorStatus(error) === 404) return undefined;
    throw storeFailure(error, object.what);
  }
}
