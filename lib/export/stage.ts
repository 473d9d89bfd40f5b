import { bodySource } from '../archive/body-source.ts';
import { outboxFileName } from '../archive/container-name.ts';
import { headerFor } from '../archive/header.ts';
import { namingFile } from '../archive/naming-file.ts';
import type {
  Archive,
  ArchivedFile,
  ArchiveKeys,
  Catalogue,
  Clock,
  ObjectHead,
  OutboxWriter,
} from '../archive/ports.ts';
import { checkTimeLeft, writeContainer } from '../archive/write-container.ts';
import type { DenyList } from '../contract/deny-list.ts';
import type { FileExportMessage } from '../contract/messages.ts';
import { outboxKey, outboxMetadata, outboxMetadataOf } from '../contract/outbox-key.ts';
import { publicKeyFingerprint } from '../crypt4gh/index.ts';
import { RequestRejectedError, TemporarilyUnavailableError } from '../errors.ts';
import type { ExportEvent, ExportLog } from './ports.ts';
import { parseFileExport, parseRecipientKey, type ReceivedMessage } from './received.ts';
import { rejection } from './rejection.ts';

/** Longest time a function may run. The invocation of an older upload has ended. */
const longestInvocationMs = 15 * 60 * 1000;

export interface StageDependencies {
  readonly catalogue: Catalogue;
  readonly archive: Archive;
  readonly outbox: OutboxWriter;
  readonly archiveKeys: ArchiveKeys;
  readonly log: ExportLog;
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

type Written =
  | { readonly outcome: 'staged'; readonly bytes: number }
  /** An earlier delivery of the same message has staged it. */
  | { readonly outcome: 'already_staged'; readonly bytes: number }
  /** The recipient's container of this file comes from a newer request. */
  | { readonly outcome: 'superseded' };

/** The outcome of a file. Each is final: the message can go. */
export type StageOutcome = { readonly requestId: string; readonly fileId?: string } & (
  | Written
  | { readonly outcome: 'rejected'; readonly reason: string; readonly detail: string }
);

/**
 * Stage one file for one recipient: the header rebuilt for their key, the body copied as it is. Safe to repeat and to run
 * twice at once: the outbox ends with the whole container of the newest request.
 *
 * @param received a message of the queue `file-exports`
 * @throws TemporarilyUnavailableError, ArchiveDamagedError and other errors of the ports: to be delivered again
 */
export async function stageFile(
  received: ReceivedMessage,
  dependencies: StageDependencies,
  delivery: Delivery,
): Promise<StageOutcome> {
  const { catalogue, log, denied } = dependencies;
  checkTimeLeft(delivery.remainingMs);
  let facts: Omit<ExportEvent, 'event' | 'reason'> = { requestId: received.messageId };
  try {
    const message = parseFileExport(received);
    const { requestId, fileId, datasetId, recipient } = message;
    facts = { requestId, fileId, datasetId, recipient };
    const publicKey = parseRecipientKey(message.publicKey);
    facts = { ...facts, keyFingerprint: publicKeyFingerprint(publicKey) };

    await refuseDenied(message, denied);
    const file = await catalogue.findReleasedFile({ fileId, datasetId });
    if (!file) throw rejection('not_released', 'the dataset is not released, or no longer holds the file');
    const written = await namingFile(fileId, () => stage({ message, publicKey, file }, dependencies, delivery));
    // Also when an earlier delivery staged it: that one may have ended before it wrote the row.
    if (written.outcome !== 'superseded') await log.record({ ...facts, event: 'staged', bytes: written.bytes });
    return { requestId, fileId, ...written };
  } catch (error) {
    if (!(error instanceof RequestRejectedError)) throw error;
    const { reason, message: detail } = error;
    await log.record({ ...facts, event: 'rejected', reason });
    const { requestId, fileId } = facts;
    return { requestId, ...(fileId !== undefined && { fileId }), outcome: 'rejected', reason, detail };
  }
}

interface Order {
  readonly message: FileExportMessage;
  readonly publicKey: Uint8Array;
  readonly file: ArchivedFile;
}

async function stage(
  { message, publicKey, file }: Order,
  dependencies: StageDependencies,
  delivery: Delivery,
): Promise<Written> {
  const { catalogue, archive, outbox, archiveKeys, denied, now } = dependencies;
  const key = outboxKey(message.recipient, outboxFileName(file.fileId, file.submissionFilePath));
  // An invocation that died could not abort its upload, even where another one has written the container since. An
  // invocation that may still run began later than this.
  if (delivery.redelivered) await outbox.abortUploads(key, new Date(now().getTime() - longestInvocationMs));
  const present = await outbox.head(key);
  const settled = settledBy(present, message);
  if (settled) return settled;

  const body = await bodySource(file, archive);
  const header = headerFor(file, await archiveKeys.candidates(file.keyHash), publicKey);
  const metadata = outboxMetadataOf({ ...message, keyFingerprint: publicKeyFingerprint(publicKey) });
  const result = await writeContainer(
    { key, metadata, header, body, replaces: present?.etag },
    {
      archive,
      outbox,
      remainingMs: delivery.remainingMs,
      confirm: async () => {
        if (!(await catalogue.isReleased(file.datasetId))) {
          throw rejection('not_released', 'the dataset was withdrawn while the file was staged');
        }
        await refuseDenied(message, denied);
      },
    },
  );
  if (result === 'written') return { outcome: 'staged', bytes: header.length + body.bodySize };
  const other = settledBy(await outbox.head(key), message);
  if (other) return other;
  throw new TemporarilyUnavailableError('another request wrote this container at the same time');
}

/** @throws RequestRejectedError `visa_denied` when a visa or subject of the grant was denied after its verification */
async function refuseDenied(
  { recipient, restsOn = [] }: FileExportMessage,
  denied: StageDependencies['denied'],
): Promise<void> {
  const list = await denied();
  if ([recipient, ...restsOn].some((hash) => list.has(hash))) {
    throw rejection('visa_denied', 'the visa or its subject was denied while the file waited');
  }
}

/** The outcome if the outbox already holds this request's container or a newer one. */
function settledBy(present: ObjectHead | undefined, message: FileExportMessage): Written | undefined {
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
