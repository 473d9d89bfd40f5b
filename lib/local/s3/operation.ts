import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { writeBody } from '../http.ts';
import type { Bucket } from './bucket.ts';
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

export interface S3Reply {
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  readonly body: Readable | string;
}

/** A reply without a body. */
export function emptyReply(status: number, headers: OutgoingHttpHeaders = {}): S3Reply {
  return { status, headers, body: '' };
}

/** Send a reply. @param count called with the number of bytes of the body as they are written */
export async function sendReply(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: S3Reply,
  count?: (bytes: number) => void,
): Promise<void> {
  // The whole request is read, so that the connection is ready for the next one.
  if (!request.complete) request.resume();
  response.writeHead(status, headers);
  if (body instanceof Readable) body.on('data', (piece: Uint8Array) => count?.(piece.byteLength));
  else count?.(Buffer.byteLength(body));
  await writeBody(response, request.method === 'HEAD' ? '' : body);
}
