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

/** Send a reply. @param count told of the bytes of the body as they are written */
export async function sendReply(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: S3Reply,
  count?: (bytes: number) => void,
): Promise<void> {
  // A reply that comes before the request was read would leave the connection in the middle of a body.
  if (!request.complete) request.resume();
  response.writeHead(status, headers);
  if (body instanceof StoredBody) return await body.writeTo(response, count);
  count?.(Buffer.byteLength(body));
  await writeBody(response, request.method === 'HEAD' ? '' : body);
}
