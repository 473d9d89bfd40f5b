import type { FileExportMessage } from '../contract/messages.ts';
import { outboxMetadata } from '../contract/outbox-key.ts';

/**
 * Whether the container in the outbox comes from an older (< 0), the same (0) or a newer request (> 0) than the message:
 * by the time of the request, then by its id. A container without that metadata counts as older.
 */
export function compareRequests(
  metadata: Readonly<Record<string, string>>,
  message: Pick<FileExportMessage, 'requestId' | 'requestedAt'>,
): number {
  const requestId = metadata[outboxMetadata.requestId];
  const requestedAt = Date.parse(metadata[outboxMetadata.requestedAt] ?? '');
  if (requestId === message.requestId) return 0;
  if (requestId === undefined || Number.isNaN(requestedAt)) return -1;
  const difference = requestedAt - Date.parse(message.requestedAt);
  if (difference !== 0) return difference;
  return requestId < message.requestId ? -1 : 1;
}
