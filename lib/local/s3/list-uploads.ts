import { formatCrc } from '../../common/crc64nvme.ts';
import { pageLimit, shownKeys, wholeNumber } from './list-objects.ts';
import { crcOfPart, uploadId } from './multipart.ts';
import type { Operation } from './operation.ts';
import { notImplemented } from './refusals.ts';
import { compareUtf8 } from './sorted-keys.ts';
import { xmlReply } from './xml.ts';

export const listMultipartUploads: Operation = ({ parameters }, _, { bucket }) => {
  if (parameters.has('delimiter')) throw notImplemented('a delimiter in ListMultipartUploads');
  const shown = shownKeys(parameters.get('encoding-type'));
  const prefix = parameters.get('prefix') ?? '';
  const limit = pageLimit(parameters, 'max-uploads');
  const [keyMarker, idMarker] = [parameters.get('key-marker') ?? '', parameters.get('upload-id-marker') ?? ''];
  const all = bucket.uploads.list().filter(({ key }) => key.startsWith(prefix));
  // Of the uploads of the marker's own key, those behind the marker. If that upload has ended, all of them.
  const marked = all.findIndex(({ key, id }) => key === keyMarker && id === idMarker);
  const rest = all.filter(({ key }, index) => {
    const order = compareUtf8(key, keyMarker);
    return order > 0 || (order === 0 && idMarker !== '' && index > marked);
  });
  const page = rest.slice(0, limit);
  const last = page.at(-1);
  const truncated = last !== undefined && rest.length > page.length;
  const rows = page.map(({ key, id, initiated, tellsChecksums }) => ({
    Upload: {
      ...{ Key: shown(key), UploadId: id, StorageClass: 'STANDARD', Initiated: new Date(initiated).toISOString() },
      ChecksumAlgorithm: tellsChecksums ? 'CRC64NVME' : undefined,
    },
  }));
  return xmlReply('ListMultipartUploadsResult', [
    {
      ...{ Bucket: bucket.name, KeyMarker: shown(keyMarker), UploadIdMarker: idMarker, Prefix: shown(prefix) },
      ...{ MaxUploads: limit, IsTruncated: truncated },
      ...(truncated && { NextKeyMarker: shown(last.key), NextUploadIdMarker: last.id }),
    },
    ...rows,
  ]);
};

export const listParts: Operation = (s3, _, { bucket }) => {
  const { parameters, key } = s3;
  const upload = bucket.uploads.get(uploadId(s3), key);
  const marker = wholeNumber(parameters, 'part-number-marker', 0);
  const limit = pageLimit(parameters, 'max-parts');
  const rest = [...upload.parts.values()].sort((a, b) => a.number - b.number).filter(({ number }) => number > marker);
  const page = rest.slice(0, limit);
  const truncated = page.length > 0 && rest.length > page.length;
  const rows = page.map((part) => ({
    Part: {
      ...{ PartNumber: part.number, ETag: part.etag, Size: part.size },
      LastModified: new Date(part.lastModified).toISOString(),
      ChecksumCRC64NVME: upload.tellsChecksums ? formatCrc(crcOfPart(part)) : undefined,
    },
  }));
  return xmlReply('ListPartsResult', [
    {
      ...{ Bucket: bucket.name, Key: key, UploadId: upload.id, PartNumberMarker: marker },
      ...{ MaxParts: limit, IsTruncated: truncated },
      // S3 also says it with the last page.
      NextPartNumberMarker: page.at(-1)?.number ?? 0,
    },
    ...rows,
  ]);
};
