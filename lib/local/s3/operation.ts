import type { IncomingMessage } from 'node:http';
import type { Bucket } from './bucket.ts';
import type { S3Reply } from './s3-reply.ts';
import type { S3Request } from './s3-request.ts';

/** What an operation works on. */
export interface Context {
  readonly bucket: Bucket;
  /** @throws AwsError NoSuchBucket */
  readonly bucketNamed: (name: string) => Bucket;
  readonly now: () => Date;
}

/** One API operation of S3. @throws AwsError for a refusal */
export type Operation = (s3: S3Request, request: IncomingMessage, context: Context) => S3Reply | Promise<S3Reply>;

/** The time as S3 keeps it: milliseconds since 1970, whole seconds. */
export function wholeSeconds(time: Date): number {
  return Math.floor(time.getTime() / 1000) * 1000;
}
