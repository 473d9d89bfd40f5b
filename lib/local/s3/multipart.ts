import { createHash } from 'node:crypto';
import { formatCrc } from '../../common/crc64nvme.ts';
import { AwsError } from '../endpoint/errors.ts';
import { slice } from './data-files.ts';
import { emptyReply, type Operation } from './operation.ts';
import { copySource, entityTag } from './put-object.ts';
import { receiveBody } from './received-body.ts';
import { invalidArgument, notImplemented, s3Limits, wholeSeconds } from './refusals.ts';
import type { S3Request } from './s3-request.ts';
import { headersToKeep } from './stored-object.ts';
import type { Part } from './uploads.ts';
import { xmlReply } from './xml.ts';

export const createMultipartUpload: Operation = ({ key }, { headers }, { bucket, now }) => {
  const algorithm = headers['x-amz-checksum-algorithm'];
  const type = headers['x-amz-checksum-type'] ?? 'FULL_OBJECT';
  if (algorithm !== undefined && algorithm !== 'CRC64NVME') throw notImplemented(`the checksum algorithm ${algorithm}`);
  if (type !== 'FULL_OBJECT') throw invalidArgument('The CRC64NVME checksum algorithm supports FULL_OBJECT only');
  const { id } = bucket.uploads.create({
    key,
    initiated: wholeSeconds(now()),
    headers: headersToKeep(headers),
    tellsChecksums: algorithm !== undefined,
  });
  const reply = xmlReply('InitiateMultipartUploadResult', { Bucket: bucket.name, Key: key, UploadId: id });
  const told = { 'x-amz-checksum-algorithm': 'CRC64NVME', 'x-amz-checksum-type': type };
  return algorithm === undefined ? reply : { ...reply, headers: { ...reply.headers, ...told } };
};

export const uploadPart: Operation = async (s3, request, { bucket, now }) => {
  const number = partNumber(s3);
  const upload = bucket.uploads.get(uploadId(s3), s3.key);
  const body = await receiveBody(request, upload.id, bucket.files, { md5: !bucket.isEncrypted });
  const { size, crc, stored } = body;
  const etag = entityTag(bucket, body.md5);
  try {
    const part = { number, extents: stored.extents, size, etag, crc: hex(crc), lastModified: wholeSeconds(now()) };
    bucket.uploads.addPart(upload, part);
  } catch (error) {
    bucket.files.discard(stored);
    throw error;
  }
  return emptyReply(200, { etag, ...(upload.tellsChecksums && { 'x-amz-checksum-crc64nvme': formatCrc(crc) }) });
};

/** The part shares the files of its source. Only the edges of a long range are read, for the checksum. */
export const uploadPartCopy: Operation = async (s3, request, context) => {
  const { bucket, now } = context;
  const number = partNumber(s3);
  const upload = bucket.uploads.get(uploadId(s3), s3.key);
  const source = copySource(s3, request.headers, context);
  const { start, end } = copyRange(request.headers['x-amz-copy-source-range'], source.size);
  const shared = { owner: source.owner, extents: slice(source.extents, start, end) };
  const release = bucket.files.hold(source.owner);
  try {
    const crc = await bucket.files.crc(shared);
    // No `await` from here on: an upload that has ended meanwhile gets no files.
    bucket.uploads.get(upload.id, s3.key);
    const { extents } = bucket.files.share(shared, upload.id);
    // The digest of the bytes would need a read of them. Clients may not rely on it.
    const digest = createHash('md5').update(`${source.etag} ${start}-${end}`).digest('hex');
    const etag = entityTag(bucket, digest);
    const lastModified = wholeSeconds(now());
    bucket.uploads.addPart(upload, { number, extents, size: end - start, etag, crc: hex(crc), lastModified });
    return xmlReply('CopyPartResult', {
      ...{ ETag: etag, LastModified: new Date(lastModified).toISOString() },
      ChecksumCRC64NVME: upload.tellsChecksums ? formatCrc(crc) : undefined,
    });
  } finally {
    release();
  }
};

export const abortMultipartUpload: Operation = (s3, _, { bucket }) => {
  bucket.uploads.end(bucket.uploads.get(uploadId(s3), s3.key), new Set());
  return emptyReply(204);
};

export function uploadId({ parameters }: S3Request): string {
  return parameters.get('uploadId') ?? '';
}

/** Bytes [start, end) of the source. @throws AwsError InvalidArgument, InvalidRequest */
function copyRange(header: string | string[] | undefined, size: number): { start: number; end: number } {
  if (size > s3Limits.bodyBytes && header === undefined) throw tooLarge();
  if (header === undefined) return { start: 0, end: size };
  const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(String(header)) ?? [];
  if (first === undefined || Number(last) < Number(first)) {
    throw invalidArgument(
      'The x-amz-copy-source-range value must be of the form bytes=first-last where first and last are the zero-based offsets of the first and last bytes to copy',
      'x-amz-copy-source-range',
      String(header),
    );
  }
  if (Number(last) >= size) {
    throw invalidArgument(
      `Range specified is not valid for source object of size: ${size}`,
      'x-amz-copy-source-range',
      String(header),
    );
  }
  if (size <= s3Limits.leastPartBytes) {
    throw new AwsError(400, 'InvalidRequest', 'The specified copy source is not supported as a byte-range copy source');
  }
  if (Number(last) + 1 - Number(first) > s3Limits.bodyBytes) throw tooLarge();
  return { start: Number(first), end: Number(last) + 1 };
}

function tooLarge(): AwsError {
  return new AwsError(
    400,
    'InvalidRequest',
    `The specified copy source is larger than the maximum allowable size for a copy source: ${s3Limits.bodyBytes}`,
  );
}

function partNumber({ parameters }: S3Request): number {
  const text = parameters.get('partNumber') ?? '';
  const number = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (number < 1 || number > s3Limits.parts) {
    throw invalidArgument(
      `Part number must be an integer between 1 and ${s3Limits.parts}, inclusive`,
      'partNumber',
      text,
    );
  }
  return number;
}

function hex(crc: bigint): string {
  return crc.toString(16).padStart(16, '0');
}

/** The checksum of a part as a number. */
export function crcOfPart({ crc }: Part): bigint {
  return BigInt(`0x${crc}`);
}
