import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { formatCrc } from '../../common/crc64nvme.ts';
import { AwsError } from '../endpoint/errors.ts';
import type { Bucket } from './bucket.ts';
import { checkCopySource, checkWrite } from './conditions.ts';
import { newId } from './data-files.ts';
import { type Context, emptyReply, type Operation } from './operation.ts';
import { receiveBody } from './received-body.ts';
import { invalidArgument, noSuchKey, notImplemented, s3Limits, wholeSeconds } from './refusals.ts';
import type { S3Request } from './s3-request.ts';
import { headersToKeep, type StoredObject } from './stored-object.ts';
import { xmlReply } from './xml.ts';

/** The digest of the bytes, or any other value for an encrypted object (S3 API reference, Object). With quotes. */
export function entityTag(bucket: Bucket, md5: string | undefined): string {
  return `"${bucket.isEncrypted || md5 === undefined ? randomBytes(16).toString('hex') : md5}"`;
}

export const putObject: Operation = async ({ key }, request, { bucket, now }) => {
  const headers = headersToKeep(request.headers);
  // Checked before the bytes come, to refuse early, and again when they exist.
  checkWrite(key, bucket.find(key), request.headers);
  const { stored, size, md5, crc } = await receiveBody(request, newId(), bucket.files, { md5: !bucket.isEncrypted });
  const object: StoredObject = {
    key,
    ...stored,
    size,
    etag: entityTag(bucket, md5),
    lastModified: wholeSeconds(now()),
    crc64nvme: formatCrc(crc),
    headers,
  };
  commit(bucket, object, request.headers);
  return emptyReply(200, { etag: object.etag, 'x-amz-checksum-crc64nvme': object.crc64nvme });
};

export const copyObject: Operation = (s3, request, context) => {
  const { bucket, now } = context;
  if ((request.headers['x-amz-metadata-directive'] ?? 'COPY') !== 'COPY')
    throw notImplemented('x-amz-metadata-directive');
  const source = copySource(s3, request.headers, context);
  if (source.size > s3Limits.bodyBytes) {
    throw invalidArgument('The specified copy source is larger than the maximum allowable size for a copy source');
  }
  if (s3.copySource?.bucket === bucket.name && source.key === s3.key) {
    throw new AwsError(
      400,
      'InvalidRequest',
      "This copy request is illegal because it is trying to copy an object to itself without changing the object's metadata, storage class, website redirect location or encryption attributes.",
    );
  }
  const object: StoredObject = {
    ...source,
    ...bucket.files.share(source, newId()),
    key: s3.key,
    etag: bucket.isEncrypted ? entityTag(bucket, undefined) : source.etag,
    lastModified: wholeSeconds(now()),
  };
  commit(bucket, object, request.headers);
  const modified = new Date(object.lastModified).toISOString();
  return xmlReply('CopyObjectResult', { ETag: object.etag, LastModified: modified });
};

/** The object that a request copies from, if its conditions hold. @throws AwsError NoSuchKey, PreconditionFailed */
export function copySource(
  { copySource: named }: S3Request,
  headers: IncomingHttpHeaders,
  { bucketNamed }: Context,
): StoredObject {
  if (!named) throw invalidArgument('Invalid copy source object key', 'x-amz-copy-source');
  const source = bucketNamed(named.bucket).find(named.key);
  if (!source) throw noSuchKey(named.key);
  checkCopySource(source, headers);
  return source;
}

/** Check the conditions and write, in one step. A refused object leaves nothing behind. */
function commit(bucket: Bucket, object: StoredObject, headers: IncomingHttpHeaders): void {
  try {
    checkWrite(object.key, bucket.find(object.key), headers);
    bucket.put(object);
  } catch (error) {
    bucket.files.discard(object);
    throw error;
  }
}
