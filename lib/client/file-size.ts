import { fileSizeHeader } from '../contract/headers.ts';
import type { TransportReply } from './transport.ts';

/**
 * Bytes of the whole file of a reply with status 200; `undefined` if the reply does not say. The service's own header comes
 * first: a gateway on the way may write `Content-Length` anew, as 0 for a reply without a body.
 */
export function fileSize(reply: Pick<TransportReply, 'header'>): number | undefined {
  const text = reply.header(fileSizeHeader) ?? reply.header('content-length') ?? '';
  return /^\d+$/.test(text) ? Number(text) : undefined;
}
