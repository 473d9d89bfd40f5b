import { AwsError } from '../endpoint/errors.ts';

/** Limits of S3 that callers meet (S3 user guide, "Multipart upload limits" and the API reference). Sizes in bytes. */
export const s3Limits = {
  /** UTF-8 bytes of a key. */
  keyBytes: 1024,
  /** Names and values of all `x-amz-meta-` headers together. */
  metadataBytes: 2048,
  /** One PutObject, or one part. */
  bodyBytes: 5 * 1024 ** 3,
  /** Every part but the last. */
  leastPartBytes: 5 * 1024 ** 2,
  /** Numbers of parts begin at 1. */
  parts: 10_000,
  /** Rows of one page of a listing, and keys of one DeleteObjects. */
  page: 1000,
  /** The body of a request that carries XML. 10,000 parts need less than 2 MB. */
  documentBytes: 4 * 1024 ** 2,
} as const;

/** Refusals that several operations share, in the words of S3. */

export function noSuchKey(key: string): AwsError {
  return new AwsError(404, 'NoSuchKey', 'The specified key does not exist.', { Key: key });
}

export function noSuchBucket(bucket: string): AwsError {
  return new AwsError(404, 'NoSuchBucket', 'The specified bucket does not exist', { BucketName: bucket });
}

export function preconditionFailed(condition: string): AwsError {
  return new AwsError(412, 'PreconditionFailed', 'At least one of the pre-conditions you specified did not hold', {
    Condition: condition,
  });
}

export function invalidArgument(message: string, name?: string, value?: string): AwsError {
  return new AwsError(400, 'InvalidArgument', message, {
    ...(name !== undefined && { ArgumentName: name }),
    ...(value !== undefined && { ArgumentValue: value }),
  });
}

/** For what S3 has and this engine lacks. */
export function notImplemented(what: string): AwsError {
  return new AwsError(501, 'NotImplemented', `the local S3 does not know ${what}`);
}

/** The time as S3 keeps it: milliseconds since 1970, whole seconds. */
export function wholeSeconds(time: Date): number {
  return Math.floor(time.getTime() / 1000) * 1000;
}
