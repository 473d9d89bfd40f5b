import { fileSizeHeader } from '../contract/headers.ts';
import type { TransportReply } from './transport.ts';

/**
 * Bytes of the whole file that a reply with status 200 is about; `undefined` when it does not say. What is on the way may
 * count `Content-Length` anew, to 0 where no bytes go with the reply: the service's own header comes first.
 */
export function fileSize(reply: Pick<TransportReply, 'header'>): number | undefined {
  const text = reply.header(fileSizeHeader) ?? reply.header('content-length') ?? '';
  return /^\d+$/.test(text) ? Number(text) : undefined;
}
