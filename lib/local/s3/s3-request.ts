import type { IncomingHttpHeaders } from 'node:http';
import { AwsError } from '../endpoint/errors.ts';
import type { Permission } from '../iam/policy.ts';
import { notImplemented, s3Limits } from './refusals.ts';

/** An S3 request in path style, parsed. */
export interface S3Request {
  readonly action: string;
  /** The action whose use of the bucket's key this request needs: a HEAD that asks for the checksum reads as a GET does. */
  readonly keyAction: string;
  readonly bucket: string;
  /** Decoded; empty for requests about the bucket. */
  readonly key: string;
  readonly parameters: URLSearchParams;
  readonly permissions: readonly Permission[];
  /** Source of a copy, decoded. */
  readonly copySource: { readonly bucket: string; readonly key: string } | undefined;
}

/** @throws AwsError for an action of S3 that is not known here. */
export function parseS3Request(method: string, path: string, query: string, headers: IncomingHttpHeaders): S3Request {
  const parameters = new URLSearchParams(query);
  const [bucket = '', ...rest] = path.slice(1).split('/');
  const key = decode(rest.join('/'));
  const copySource = parseCopySource(headers['x-amz-copy-source']);
  const request = `${method} ${key === '' ? 'bucket' : 'object'}`;
  const [action] =
    Object.entries(actions).find(([, known]) => isLike(known, request, parameters, copySource !== undefined)) ?? [];
  if (!action || bucket === '')
    throw notImplemented(`${method} ${key === '' ? 'of a bucket' : 'of an object'} with these parameters`);
  refuseUnknown(action, parameters, headers);
  if (Buffer.byteLength(key) > s3Limits.keyBytes) {
    throw new AwsError(400, 'KeyTooLongError', 'Your key is too long', {
      Size: String(Buffer.byteLength(key)),
      MaxSizeAllowed: String(s3Limits.keyBytes),
    });
  }
  const asksForChecksum = (headers['x-amz-checksum-mode'] ?? parameters.get('x-amz-checksum-mode')) === 'ENABLED';
  return {
    action,
    keyAction: action === 'HeadObject' && asksForChecksum ? 'GetObject' : action,
    bucket,
    key,
    parameters,
    copySource,
    permissions: permissionsOf(action, bucket, key, parameters, copySource, headers),
  };
}

/** Query parameters of any action: its own, and those of the SDK and of a signature. */
const commonParameters =
  /^(x-id|x-amz-(algorithm|credential|date|expires|signedheaders|signature|security-token|content-sha256|checksum-mode))$/i;

/** What is known of an API action. */
interface Action {
  /** Method, and whether the request is about a bucket or an object. */
  readonly request: string;
  /** Query parameter that the request has, with its value if only that one will do. @default - none is needed */
  readonly by?: string;
  /** Whether it has a source to copy from. */
  readonly copies?: true;
  /** IAM action, if it is another one. */
  readonly permission?: string;
  /** Query parameters beside {@link by}. */
  readonly parameters?: readonly string[];
}
/** The first that a request is like is the one that it is. */
const actions: Readonly<Record<string, Action>> = {
  ListMultipartUploads: {
    ...{ request: 'GET bucket', by: 'uploads', permission: 'ListBucketMultipartUploads' },
    parameters: ['prefix', 'encoding-type', 'delimiter', 'max-uploads', 'key-marker', 'upload-id-marker'],
  },
  ListObjectsV2: {
    ...{ request: 'GET bucket', by: 'list-type=2', permission: 'ListBucket' },
    parameters: [
      ...['prefix', 'encoding-type', 'delimiter', 'max-keys', 'start-after', 'continuation-token', 'fetch-owner'],
    ],
  },
  DeleteObjects: { request: 'POST bucket', by: 'delete', permission: 'DeleteObject' },
  ListParts: {
    ...{ request: 'GET object', by: 'uploadId', permission: 'ListMultipartUploadParts' },
    parameters: ['max-parts', 'part-number-marker'],
  },
  GetObject: { request: 'GET object', parameters: ['response-content-disposition'] },
  HeadObject: { request: 'HEAD object', permission: 'GetObject', parameters: ['response-content-disposition'] },
  UploadPartCopy: {
    ...{ request: 'PUT object', by: 'uploadId', copies: true, permission: 'PutObject' },
    parameters: ['partNumber'],
  },
  UploadPart: { request: 'PUT object', by: 'uploadId', permission: 'PutObject', parameters: ['partNumber'] },
  CopyObject: { request: 'PUT object', copies: true, permission: 'PutObject' },
  PutObject: { request: 'PUT object' },
  CreateMultipartUpload: { request: 'POST object', by: 'uploads', permission: 'PutObject' },
  CompleteMultipartUpload: { request: 'POST object', by: 'uploadId', permission: 'PutObject' },
  AbortMultipartUpload: { request: 'DELETE object', by: 'uploadId' },
  DeleteObject: { request: 'DELETE object' },
};

function isLike({ request, by, copies }: Action, given: string, parameters: URLSearchParams, copy: boolean): boolean {
  const [name, value] = by?.split('=') ?? [];
  const isNamed = name === undefined || (value === undefined ? parameters.has(name) : parameters.get(name) === value);
  return request === given && isNamed && (copy || !copies);
}

/** Headers of S3 that this engine obeys, or that have no effect on one machine. */
const knownHeaders = [
  /^x-amz-(date|content-sha256|security-token|user-agent|te|expected-bucket-owner)$/,
  /^x-amz-(checksum-.+|sdk-checksum-algorithm|mp-object-size|metadata-directive|meta-.+|bucket-region)$/,
  /^x-amz-copy-source(-range|-if-(match|none-match))?$/,
  /^x-amz-server-side-encryption(-aws-kms-key-id|-bucket-key-enabled)?$/,
];

/** Refuse by name what is not modelled. @throws AwsError NotImplemented */
function refuseUnknown(action: string, parameters: URLSearchParams, headers: IncomingHttpHeaders): void {
  for (const name of parameters.keys()) {
    const { by = '', parameters: others = [] } = actions[action] ?? {};
    const own = by.split('=')[0] === name || others.includes(name);
    if (!own && !commonParameters.test(name)) throw notImplemented(`the parameter ${name} of ${action}`);
  }
  for (const name of Object.keys(headers)) {
    if (!name.startsWith('x-amz-') || knownHeaders.some((known) => known.test(name))) continue;
    throw notImplemented(`the header ${name}`);
  }
}

function permissionsOf(
  action: string,
  bucket: string,
  key: string,
  parameters: URLSearchParams,
  source: { bucket: string; key: string } | undefined,
  headers: IncomingHttpHeaders,
): Permission[] {
  const bucketArn = `arn:aws:s3:::${bucket}`;
  const prefix = parameters.get('prefix');
  const permissions: Permission[] = [
    {
      action: `s3:${actions[action]?.permission ?? action}`,
      // DeleteObjects names its keys in the body; a grant for part of a bucket does not cover it here.
      resource: action === 'DeleteObjects' ? `${bucketArn}/*` : key === '' ? bucketArn : `${bucketArn}/${key}`,
      ...(prefix !== null && action.startsWith('ListObjects') && { context: { 's3:prefix': prefix } }),
    },
  ];
  if (source) permissions.push({ action: 's3:GetObject', resource: `arn:aws:s3:::${source.bucket}/${source.key}` });
  const writes = ['PutObject', 'CompleteMultipartUpload', 'DeleteObject'].includes(action);
  // S3 user guide, conditional writes and deletes: If-Match also reads.
  if (writes && headers['if-match']) permissions.push({ action: 's3:GetObject', resource: `${bucketArn}/${key}` });
  return permissions;
}

function parseCopySource(header: string | string[] | undefined): { bucket: string; key: string } | undefined {
  if (header === undefined) return undefined;
  const source = String(header);
  if (source.includes('?versionId=')) throw notImplemented('the versionId of a copy source');
  const [bucket = '', ...key] = decode(source).replace(/^\//, '').split('/');
  if (bucket === '' || key.length === 0) throw new AwsError(400, 'InvalidArgument', 'Invalid copy source object key');
  return { bucket, key: key.join('/') };
}

function decode(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    throw new AwsError(400, 'InvalidURI', "Couldn't parse the specified URI.");
  }
}
