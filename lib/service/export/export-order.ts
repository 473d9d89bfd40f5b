import { createHash } from 'node:crypto';
import type { DenyList } from '../../contract/deny-list.ts';
import { outboxMetadata, outboxMetadataOf } from '../../contract/outbox-key.ts';
import { publicKeyFingerprint } from '../../crypt4gh/index.ts';
import { headerFor } from '../archive/archived-file.ts';
import type { ArchivedFile, ArchiveKeys, Clock, ObjectHead, OutboxWriter } from '../archive/ports.ts';
import type { CopyRecords, FileRecords } from './ledger-port.ts';
import type { Deliveries, ExportArchive, ExportCatalogue, FileExport } from './ports.ts';
import { rejection } from './received.ts';

export interface StageDependencies {
  readonly catalogue: ExportCatalogue;
  readonly archive: ExportArchive;
  readonly outbox: OutboxWriter;
  readonly archiveKeys: ArchiveKeys;
  readonly ledger: FileRecords;
  readonly deliveries: Deliveries;
  readonly copies: CopyRecords;
  /** The deny list as it is now. */
  readonly denied: () => Promise<DenyList>;
  readonly now: Clock;
  /** Bytes of one copied part, at least S3's 5 MiB. @default 64 MiB */
  readonly copySize?: number;
}

/** One delivery of a message, and the invocation that handles it. */
export interface Delivery {
  /** Whether the message may have been delivered before (receive count over 1). */
  readonly redelivered: boolean;
  /** Milliseconds until the invocation ends. */
  readonly remainingMs: () => number;
}

/** What happened to a file that the catalogue gives out. Each outcome is final: the message can go. */
export type Written =
  | (Container & { readonly outcome: 'staged' })
  /** An earlier delivery of the same message has staged it. */
  | (Container & { readonly outcome: 'already_staged' })
  /** The recipient's container of this file comes from a newer request. */
  | { readonly outcome: 'superseded'; readonly by: string };

interface Container {
  readonly bytes: number;
  /** CRC-64/NVME, base64; `undefined` when it is not known. */
  readonly crc64nvme: string | undefined;
  readonly headerSha256: string;
}

export interface ExportOrder {
  readonly key: string;
  readonly message: FileExport;
  readonly publicKey: Uint8Array;
  readonly file: ArchivedFile;
}

export function metadataOf({
  message,
  publicKey,
}: Pick<ExportOrder, 'message' | 'publicKey'>): Readonly<Record<string, string>> {
  return outboxMetadataOf({ ...message, keyFingerprint: publicKeyFingerprint(publicKey) });
}

/** @throws `request_rejected` when the dataset was withdrawn, or the visa denied, while the file was staged */
export async function confirmReleased(
  { message, file }: Pick<ExportOrder, 'message' | 'file'>,
  { catalogue, denied }: Pick<StageDependencies, 'catalogue' | 'denied'>,
): Promise<void> {
  if (!(await catalogue.isReleased(file.datasetId))) {
    throw rejection('not_released', 'the dataset was withdrawn while the file was staged');
  }
  await refuseDenied(message, denied);
}

/** @throws `request_rejected` `visa_denied` when a visa or subject of the grant was denied after its verification */
export async function refuseDenied(
  { recipient, dependsOn = [] }: FileExport,
  denied: StageDependencies['denied'],
): Promise<void> {
  const list = await denied();
  if ([recipient, ...dependsOn].some((hash) => list.has(hash))) {
    throw rejection('visa_denied', 'the visa or its subject was denied while the file waited');
  }
}

/** The container's header for the recipient, and its SHA-256, hex. It is the same at every delivery. */
export async function headerOf(
  { file, publicKey }: Pick<ExportOrder, 'file' | 'publicKey'>,
  archiveKeys: ArchiveKeys,
): Promise<{ readonly header: Uint8Array; readonly headerSha256: string }> {
  const header = headerFor(file, await archiveKeys.candidates(file.keyHash), publicKey);
  return { header, headerSha256: createHash('sha256').update(header).digest('hex') };
}

/**
 * The outcome if the outbox already holds this request's container or a newer one.
 *
 * @param headerSha256 of the container that this request writes
 */
export function alreadyWritten(
  present: ObjectHead | undefined,
  message: FileExport,
  headerSha256: string,
): Written | undefined {
  if (!present) return undefined;
  const age = compareRequests(present.metadata, message);
  if (age < 0) return undefined;
  if (age > 0) return { outcome: 'superseded', by: present.metadata[outboxMetadata.requestId] ?? '' };
  const { size: bytes, crc64nvme } = present;
  return { outcome: 'already_staged', bytes, headerSha256, crc64nvme };
}

/**
 * Whether the container in the outbox comes from an older (< 0), the same (0) or a newer request (> 0) than the message:
 * by the time of the request, then by its id. A container without that metadata counts as older.
 */
function compareRequests(
  metadata: Readonly<Record<string, string>>,
  message: Pick<FileExport, 'requestId' | 'requestedAt'>,
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
