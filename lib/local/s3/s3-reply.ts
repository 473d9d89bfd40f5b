import type { OutgoingHttpHeaders } from 'node:http';
import type { StoredBody } from './stored-body.ts';

export interface S3Reply {
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  readonly body: StoredBody | Uint8Array | string;
}

/** A reply without a body. */
export function emptyReply(status: number, headers: OutgoingHttpHeaders = {}): S3Reply {
  return { status, headers, body: '' };
}
