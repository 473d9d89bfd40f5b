import { createHash } from 'node:crypto';
import { combinedCrc, emptyCrc, formatCrc } from '../../common/crc64nvme.ts';
import { AwsError } from '../endpoint/errors.ts';
import { bareTag, checkWrite } from './conditions.ts';
import { contentsOf, joined } from './data-files.ts';
import { crcOfPart, uploadId } from './multipart.ts';
import type { Operation } from './operation.ts';
import { entityTag } from './put-object.ts';
import { compareChecksum, crcHeader, receiveDocument } from './received-body.ts';
import { notImplemented, s3Limits } from './refusals.ts';
import type { Part, Upload } from './uploads.ts';
import { elements, malformedXml, textOf, xmlReply } from './xml.ts';

/** Join the parts to an object: their files become the object's. No byte is read or written. */
export const completeMultipartUpload: Operation = async (s3, request, { bucket }) => {
  const document = await receiveDocument(request);
  const upload = bucket.uploads.get(uploadId(s3), s3.key);
  const parts = listedParts(document, upload);
  const { headers } = request;
  const size = parts.reduce((sum, part) => sum + part.size, 0);
  const stated = headers['x-amz-mp-object-size'];
  if (stated !== undefined && Number(stated) !== size) {
    throw new AwsError(400, 'InvalidRequest', 'The provided x-amz-mp-object-size does not match the uploaded parts');
  }
  const crc = formatCrc(parts.reduce((sum, part) => combinedCrc(sum, crcOfPart(part), part.size), emptyCrc));
  checkChecksum(headers, crc);
  const extents = joined(parts.map((part) => part.extents));
  // No `await` from here on: the conditions still hold when the object is written.
  checkWrite(s3.key, bucket.find(s3.key), headers);
  const { key, id: owner, initiated: lastModified } = upload;
  const etag = `${entityTag(bucket, digestOfDigests(parts)).slice(0, -1)}-${parts.length}"`;
  bucket.put({ key, owner, extents, size, etag, lastModified, crc64nvme: crc, headers: upload.headers });
  bucket.uploads.end(upload, contentsOf(extents));
  return xmlReply('CompleteMultipartUploadResult', {
    ...{ Location: `/${bucket.name}/${encodeURIComponent(key)}`, Bucket: bucket.name, Key: key, ETag: etag },
    ...{ ChecksumCRC64NVME: crc, ChecksumType: 'FULL_OBJECT' },
  });
};

/** The parts that the request names. @throws AwsError MalformedXML, InvalidPartOrder, InvalidPart, EntityTooSmall */
function listedParts(document: string, upload: Upload): readonly Part[] {
  const listed = elements(document, 'Part').map((part) => ({
    number: Number(textOf(part, 'PartNumber')),
    etag: bareTag(textOf(part, 'ETag') ?? ''),
    crc: textOf(part, 'ChecksumCRC64NVME'),
  }));
  if (listed.length === 0 || listed.length > s3Limits.parts) throw malformedXml();
  const inOrder = listed.every(({ number }, index) => {
    const previous = listed[index - 1]?.number ?? 0;
    return number > previous && (!upload.tellsChecksums || number === previous + 1);
  });
  if (!inOrder) {
    throw new AwsError(
      400,
      'InvalidPartOrder',
      'The list of parts was not in ascending order. The parts list must be specified in order by part number.',
    );
  }
  const parts = listed.map(({ number, etag, crc }) => {
    const part = upload.parts.get(number);
    if (part && bareTag(part.etag) === etag && (crc === undefined || crc === formatCrc(crcOfPart(part)))) return part;
    throw new AwsError(
      400,
      'InvalidPart',
      "One or more of the specified parts could not be found. The part may not have been uploaded, or the specified entity tag may not match the part's entity tag.",
      { UploadId: upload.id, PartNumber: String(number), ETag: etag },
    );
  });
  const short = parts.slice(0, -1).find(({ size }) => size < s3Limits.leastPartBytes);
  if (!short) return parts;
  throw new AwsError(400, 'EntityTooSmall', 'Your proposed upload is smaller than the minimum allowed size', {
    ProposedSize: String(short.size),
    MinSizeAllowed: String(s3Limits.leastPartBytes),
    PartNumber: String(short.number),
  });
}

function checkChecksum(headers: Readonly<Record<string, string | string[] | undefined>>, crc: string): void {
  for (const [name, value] of Object.entries(headers)) {
    if (!/^x-amz-checksum-(?!type|algorithm)/.test(name)) continue;
    if (name !== crcHeader) throw notImplemented(`the checksum ${name} of a multipart upload`);
    compareChecksum(name, String(value), crc);
  }
}

/** S3 makes the entity tag of a multipart object from those of its parts. */
function digestOfDigests(parts: readonly Part[]): string {
  const hash = createHash('md5');
  for (const { etag } of parts) hash.update(bareTag(etag), 'hex');
  return hash.digest('hex');
}
