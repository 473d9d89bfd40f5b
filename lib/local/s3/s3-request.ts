import type { IncomingHttpHeaders } from 'node:http';
import { AwsError } from '../aws/errors.ts';
import type { Permission } from '../aws/iam.ts';

/** An S3 request in path style, understood. */
export interface S3Request {
  readonly action: string;
  readonly bucket: string;
  /** Decoded; empty for requests about the bucket. */
  readonly key: string;
  readonly parameters: URLSearchParams;
  readonly permissions: readonly Permission[];
  /** Source of a copy, decoded. */
  readonly copySource: { readonly bucket: string; readonly key: string } | undefined;
}

/** @throws AwsError for a request that is no S3 action known here. */
export function parseS3Request(method: string, path: string, query: string, headers: IncomingHttpHeaders): S3Request {
  const parameters = new URLSearchParams(query);
  const [bucket = '', ...rest] = path.slice(1).split('/');
  const key = decode(rest.join('/'));
  const copySource = parseCopySource(headers['x-amz-copy-source']);
  const action = actionOf(method, bucket, key, parameters, copySource !== undefined);
  if (!action) throw new AwsError(501, 'NotImplemented', 'the local S3 does not know this request');
  return {
    action,
    bucket,
    key,
    parameters,
    copySource,
    permissions: permissionsOf(action, bucket, key, parameters, copySource, headers),
  };
}

function actionOf(
  method: string,
  bucket: string,
  key: string,
  query: URLSearchParams,
  copy: boolean,
): string | undefined {
  if (bucket === '') return method === 'GET' ? 'ListBuckets' : undefined;
  if (key === '') return bucketAction(method, query);
  const inUpload = query.has('uploadId');
  switch (method) {
    case 'GET':
      return inUpload ? 'ListParts' : query.has('attributes') ? 'GetObjectAttributes' : 'GetObject';
    case 'HEAD':
      return 'HeadObject';
    case 'PUT':
      if (inUpload) return copy ? 'UploadPartCopy' : 'UploadPart';
      return copy ? 'CopyObject' : 'PutObject';
    case 'POST':
      return query.has('uploads') ? 'CreateMultipartUpload' : inUpload ? 'CompleteMultipartUpload' : undefined;
    case 'DELETE':
      return inUpload ? 'AbortMultipartUpload' : 'DeleteObject';
    default:
      return undefined;
  }
}

function bucketAction(method: string, query: URLSearchParams): string | undefined {
  switch (method) {
    case 'GET':
      if (query.has('uploads')) return 'ListMultipartUploads';
      return query.get('list-type') === '2'
        ? 'ListObjectsV2'
        : [...query].length === 0 || query.has('prefix')
          ? 'ListObjects'
          : undefined;
    case 'HEAD':
      return 'HeadBucket';
    case 'PUT':
      return [...query].length === 0 ? 'CreateBucket' : undefined;
    case 'POST':
      return query.has('delete') ? 'DeleteObjects' : undefined;
    case 'DELETE':
      return [...query].length === 0 ? 'DeleteBucket' : undefined;
    default:
      return undefined;
  }
}

/** IAM action of an API action where the two differ. */
const iamActions: Readonly<Record<string, string>> = {
  ListBuckets: 'ListAllMyBuckets',
  ListObjects: 'ListBucket',
  ListObjectsV2: 'ListBucket',
  HeadBucket: 'ListBucket',
  ListMultipartUploads: 'ListBucketMultipartUploads',
  ListParts: 'ListMultipartUploadParts',
  HeadObject: 'GetObject',
  CopyObject: 'PutObject',
  CreateMultipartUpload: 'PutObject',
  UploadPart: 'PutObject',
  UploadPartCopy: 'PutObject',
  CompleteMultipartUpload: 'PutObject',
  DeleteObjects: 'DeleteObject',
};

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
      action: `s3:${iamActions[action] ?? action}`,
      // DeleteObjects names its keys in the body; a grant for part of a bucket does not cover it here.
      resource: action === 'DeleteObjects' ? `${bucketArn}/*` : key === '' ? bucketArn : `${bucketArn}/${key}`,
      ...(prefix !== null && action.startsWith('ListObjects') && { context: { 's3:prefix': prefix } }),
    },
  ];
  if (source) permissions.push({ action: 's3:GetObject', resource: `arn:aws:s3:::${source.bucket}/${source.key}` });
  const writes = action === 'PutObject' || action === 'CompleteMultipartUpload';
  // S3 user guide, conditional writes: If-Match also reads.
  if (writes && headers['if-match']) permissions.push({ action: 's3:GetObject', resource: `${bucketArn}/${key}` });
  return permissions;
}

function parseCopySource(header: string | string[] | undefined): { bucket: string; key: string } | undefined {
  if (header === undefined) return undefined;
  const [source = ''] = String(header).split('?versionId=');
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
