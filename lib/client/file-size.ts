import { fileSizeHeader } from '../contract/headers.ts';
import type { TransportReply } from './transport.ts';

/**
 * Bytes of the whole file that a reply with status 200 is about; `undefined` when it does not say. A gateway on
 * the way may count `Content-Length` anew, to 0 for a reply without a body. So the service's own header comes first.
 */
export function fileSize(reply: Pick<TransportReply, 'header'>): number | undefined {
  const text = reply.header(fileSizeHeader) ?? reply.header('content-length') ?? '';
  return /^\d+$/.test(text) ? Number(text) : undefined;
}
