import type { OutgoingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';

export interface S3Reply {
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  readonly body: Readable | Uint8Array | string;
}

/** A reply without a body. */
export function emptyReply(status: number, headers: OutgoingHttpHeaders = {}): S3Reply {
  return { status, headers, body: '' };
}
