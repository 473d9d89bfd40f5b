import type { ArchivedFile, ArchiveKeys, Clock, ObjectHead, OutboxWriter } from '../archive/ports.ts';
import type { DenyList } from '../contract/deny-list.ts';
import type { FileExportMessage } from '../contract/messages.ts';
import { outboxMetadata, outboxMetadataOf } from '../contract/outbox-key.ts';
import { publicKeyFingerprint } from '../crypt4gh/index.ts';
import type { CopyRecords, ExportArchive, ExportCatalogue, ExportLog } from './ports.ts';
import { rejection } from './rejection.ts';

export interface StageDependencies {
  readonly catalogue: ExportCatalogue;
  readonly archive: ExportArchive;
  readonly outbox: OutboxWriter;
  readonly archiveKeys: ArchiveKeys;
  readonly log: ExportLog;
  readonly copies: CopyRecords;
  /** The deny list as it is now. @throws TemporarilyUnavailableError */
  readonly denied: () => Promise<DenyList>;
  readonly now: Clock;
}

/** One delivery of a message, and the invocation that handles it. */
export interface Delivery {
  /** Whether the message may have been delivered before (receive count over 1). */
  readonly redelivered: boolean;
  /** Milliseconds until the invocation ends. */
  readonly remainingMs: () => number;
}

/** What became of a file that the catalogue gives out. Each outcome is final: the message can go. */
export type Written =
  | { readonly outcome: 'staged'; readonly bytes: number; readonly checksum: string }
  /** An earlier delivery of the same message has staged it. */
  | { readonly outcome: 'already_staged'; readonly bytes: number }
  /** The recipient's container of this file comes from a newer request. */
  | { readonly outcome: 'superseded' };

/** A file to stage, and for whom. */
export interface Order {
  /** Outbox key of the container. */
  readonly key: string;
  readonly message: FileExportMessage;
  readonly publicKey: Uint8Array;
  readonly file: ArchivedFile;
}

/** The object metadata of the container. */
export function metadataOf({
  message,
  publicKey,
}: Pick<Order, 'message' | 'publicKey'>): Readonly<Record<string, string>> {
  return outboxMetadataOf({ ...message, keyFingerprint: publicKeyFingerprint(publicKey) });
}

/** @throws RequestRejectedError when the dataset was withdrawn, or the visa denied, while the file was staged */
export async function confirmReleased(
  { message, file }: Pick<Order, 'message' | 'file'>,
  { catalogue, denied }: Pick<StageDependencies, 'catalogue' | 'denied'>,
): Promise<void> {
  if (!(await catalogue.isReleased(file.datasetId))) {
    throw rejection('not_released', 'the dataset was withdrawn while the file was staged');
  }
  await refuseDenied(message, denied);
}

/** @throws RequestRejectedError `visa_denied` when a visa or subject of the grant was denied after its verification */
export async function refuseDenied(
  { recipient, restsOn = [] }: FileExportMessage,
  denied: StageDependencies['denied'],
): Promise<void> {
  const list = await denied();
  if ([recipient, ...restsOn].some((hash) => list.has(hash))) {
    throw rejection('visa_denied', 'the visa or its subject was denied while the file waited');
  }
}

/** The outcome if the outbox already holds this request's container or a newer one. */
export function settledBy(present: ObjectHead | undefined, message: FileExportMessage): Written | undefined {
  if (!present) return undefined;
  const order = compareRequests(present.metadata, message);
  if (order < 0) return undefined;
  return order === 0 ? { outcome: 'already_staged', bytes: present.size } : { outcome: 'superseded' };
}

/**
 * Whether the container in the outbox comes from an older (< 0), the same (0) or a newer request (> 0) than the message:
 * by the time of the request, then by its id. A container without that metadata counts as older.
 */
function compareRequests(
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

/** What the audit trail says of the checksum that S3 compared. */
export function checksumOf(crc64nvme: string | undefined): string {
  return crc64nvme === undefined ? 'none' : `crc64nvme:${crc64nvme}`;
}
