import { AwsError } from '../endpoint/errors.ts';
import { isModifiedFor } from './conditions.ts';
import { slice } from './data-files.ts';
import { emptyReply, type Operation } from './operation.ts';
import { noSuchKey } from './refusals.ts';
import { headersOf } from './stored-object.ts';

/** GetObject and HeadObject: whole or one range. */
export const getObject: Operation = (s3, request, { bucket }) => {
  const object = bucket.find(s3.key);
  if (!object) throw noSuchKey(s3.key);
  const shown = { ...headersOf(object), ...(bucket.isEncrypted && { 'x-amz-server-side-encryption': 'aws:kms' }) };
  if (!isModifiedFor(object, request.headers))
    return emptyReply(304, { etag: object.etag, 'last-modified': shown['last-modified'] });
  const range = rangeOf(request.headers.range, object.size);
  const { start, end } = range ?? { start: 0, end: object.size };
  const disposition = s3.parameters.get('response-content-disposition');
  const wantsChecksum = range === undefined && request.headers['x-amz-checksum-mode'] === 'ENABLED';
  const headers = {
    ...shown,
    ...(disposition !== null && { 'content-disposition': disposition }),
    'content-length': end - start,
    ...(range && { 'content-range': `bytes ${start}-${end - 1}/${object.size}` }),
    ...(wantsChecksum && { 'x-amz-checksum-crc64nvme': object.crc64nvme, 'x-amz-checksum-type': 'FULL_OBJECT' }),
  };
  const status = range ? 206 : 200;
  if (s3.action === 'HeadObject') return { status, headers, body: '' };
  return {
    status,
    headers,
    body: bucket.files.read({ owner: object.owner, extents: slice(object.extents, start, end) }),
  };
};

/**
 * What a `Range` header selects. `undefined`: everything, also for a header that must be ignored (RFC 9110 § 14.2).
 *
 * @throws AwsError InvalidRange
 */
function rangeOf(header: string | undefined, size: number): { start: number; end: number } | undefined {
  const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(header ?? '') ?? [];
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined;
  if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined;
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === '' || last === '' ? size : Math.min(Number(last) + 1, size);
  if (start < end) return { start, end };
  throw new AwsError(
    416,
    'InvalidRange',
    'The requested range is not satisfiable',
    { RangeRequested: header ?? '', ActualObjectSize: String(size) },
    { 'content-range': `bytes */${size}` },
  );
}
