import type { XmlContent } from '../endpoint/xml.ts';
import type { Bucket } from './bucket.ts';
import type { Operation } from './operation.ts';
import { invalidArgument, s3Limits } from './refusals.ts';
import { xmlReply } from './xml.ts';

/** ListObjectsV2. */
export const listObjectsV2: Operation = ({ parameters }, _, { bucket }) => {
  const prefix = parameters.get('prefix') ?? '';
  const delimiter = parameters.get('delimiter') ?? '';
  const limit = pageLimit(parameters, 'max-keys');
  const shown = shownKeys(parameters.get('encoding-type'));
  const token = parameters.get('continuation-token');
  const startAfter = parameters.get('start-after') ?? '';
  const after = token === null ? startAfter : decodeToken(token);
  const { rows, last, truncated } = page(bucket, { prefix, delimiter, after, limit });
  const contents = rows.map(({ key, isPrefix }) =>
    isPrefix ? { CommonPrefixes: { Prefix: shown(key) } } : { Contents: objectRow(bucket, key, shown) },
  );
  return xmlReply('ListBucketResult', [
    {
      Name: bucket.name,
      Prefix: shown(prefix),
      MaxKeys: limit,
      KeyCount: rows.length,
      IsTruncated: truncated,
      Delimiter: delimiter === '' ? undefined : shown(delimiter),
      EncodingType: parameters.get('encoding-type') === 'url' ? 'url' : undefined,
      StartAfter: startAfter === '' ? undefined : shown(startAfter),
      ContinuationToken: token ?? undefined,
      NextContinuationToken: truncated ? encodeToken(last) : undefined,
    },
    ...contents,
  ]);
};

/** Rows of one page: keys, and the prefixes up to the delimiter that stand for several. */
function page(
  bucket: Bucket,
  { prefix, delimiter, after, limit }: { prefix: string; delimiter: string; after: string; limit: number },
) {
  const rows: { readonly key: string; readonly isPrefix: boolean }[] = [];
  const commonOf = (key: string) => {
    const end = delimiter === '' ? -1 : key.indexOf(delimiter, prefix.length);
    return end < 0 ? undefined : key.slice(0, end + delimiter.length);
  };
  let last = '';
  // If the last page ended with a common prefix, its keys are listed. A key can also end with the delimiter.
  let common = after.startsWith(prefix) && commonOf(after) === after ? after : undefined;
  for (const key of bucket.keys.from(prefix, after)) {
    if (common !== undefined && key.startsWith(common)) continue;
    if (rows.length === limit) return { rows, last, truncated: limit > 0 };
    common = commonOf(key);
    rows.push({ key: common ?? key, isPrefix: common !== undefined });
    last = common ?? key;
  }
  return { rows, last, truncated: false };
}

function objectRow(bucket: Bucket, key: string, shown: (key: string) => string): XmlContent {
  const { lastModified = 0, etag, size } = bucket.find(key) ?? {};
  return {
    ...{ Key: shown(key), LastModified: new Date(lastModified).toISOString(), ETag: etag },
    ...{ ChecksumAlgorithm: 'CRC64NVME', ChecksumType: 'FULL_OBJECT', Size: size, StorageClass: 'STANDARD' },
  };
}

/** How many rows a page may have. @throws AwsError InvalidArgument */
export function pageLimit(parameters: URLSearchParams, name: string): number {
  return Math.min(wholeNumber(parameters, name, s3Limits.page), s3Limits.page);
}

/** @throws AwsError InvalidArgument */
export function wholeNumber(parameters: URLSearchParams, name: string, preset: number): number {
  const value = parameters.get(name) ?? String(preset);
  if (!/^\d{1,10}$/.test(value) || Number(value) > 2 ** 31 - 1) {
    throw invalidArgument(`Provided ${name} not an integer or within integer range`, name, value);
  }
  return Number(value);
}

/** Keys as the caller wants them: XML cannot carry every character, so clients ask for percent-encoding. */
export function shownKeys(encoding: string | null): (key: string) => string {
  if (encoding === null) return (key) => key;
  if (encoding !== 'url')
    throw invalidArgument('Invalid Encoding Method specified in Request', 'encoding-type', encoding);
  return (key) => encodeURIComponent(key).replaceAll('%2F', '/').replaceAll('%20', '+');
}

function encodeToken(key: string): string {
  return Buffer.from(key).toString('base64url');
}

function decodeToken(token: string): string {
  const key = Buffer.from(token, 'base64url').toString();
  if (key === '' || encodeToken(key) !== token) {
    throw invalidArgument('The continuation token provided is incorrect', 'continuation-token');
  }
  return key;
}
