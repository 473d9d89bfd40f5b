import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import { AwsError } from '../endpoint/errors.ts';
import type { Extent } from './data-files.ts';
import { s3Limits } from './refusals.ts';

/** An object, as its document describes it. */
export interface StoredObject {
  readonly key: string;
  /** Owner of its data files. */
  readonly owner: string;
  readonly extents: readonly Extent[];
  readonly size: number;
  /** With its quotes. */
  readonly etag: string;
  /** Milliseconds since 1970, whole seconds. Of a multipart object: when its upload began, as in S3. */
  readonly lastModified: number;
  /** Base64. */
  readonly crc64nvme: string;
  /** Headers of its writer that come back with it: `content-type`, `x-amz-meta-…` and others. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Headers of a write that come back with the object (S3 API reference, PutObject). */
const kept = [
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-type',
  'expires',
];
const metadataPrefix = 'x-amz-meta-';

/** What a request says of the object that it writes. @throws AwsError MetadataTooLarge */
export function headersToKeep(headers: IncomingHttpHeaders): Record<string, string> {
  const found: Record<string, string> = { 'content-type': 'binary/octet-stream' };
  let metadataBytes = 0;
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined) continue;
    const text = String(value);
    if (name.startsWith(metadataPrefix)) {
      metadataBytes += Buffer.byteLength(name) - metadataPrefix.length + Buffer.byteLength(text);
      found[name] = text;
    } else if (kept.includes(name)) {
      found[name] = text;
    }
  }
  if (metadataBytes > s3Limits.metadataBytes) {
    throw new AwsError(400, 'MetadataTooLarge', 'Your metadata headers exceed the maximum allowed metadata size');
  }
  return found;
}

/** Headers of a reply about the object. */
export function headersOf({ headers, etag, lastModified }: StoredObject): OutgoingHttpHeaders {
  return { ...headers, etag, 'last-modified': new Date(lastModified).toUTCString(), 'accept-ranges': 'bytes' };
}
