import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { writeBody } from '../http.ts';
import { StoredBody } from './stored-body.ts';

export interface S3Reply {
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  readonly body: StoredBody | string;
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
  if (body instanceof StoredBody) return await body.writeTo(response, count);
  count?.(Buffer.byteLength(body));
  await writeBody(response, request.method === 'HEAD' ? '' : body);
}
