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
  ExportEvent,
  ExportLog,
  ObjectHead,
  OutboxWriter,
} from '../archive/ports.ts';
import { cleanUpMs, writeContainer } from '../archive/write-container.ts';
import type { DenyList } from '../contract/deny-list.ts';
import type { FileExportMessage } from '../contract/messages.ts';
import { outboxKey, outboxMetadata } from '../contract/outbox-key.ts';
import { publicKeyFingerprint } from '../crypt4gh/index.ts';
import { RequestRejectedError, TemporarilyUnavailableError } from '../errors.ts';
import { parseFileExport, parseRecipientKey, type ReceivedMessage } from './received.ts';
import { rejection } from './rejection.ts';
import { compareRequests } from './request-order.ts';

/** Longest time a function may run: an upload begun longer ago than this belongs to no one any more. */
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

/** What is known of the delivery and of the invocation it came in. */
export interface Delivery {
  /** Whether the message may have been delivered before (receive count over 1). */
  readonly redelivered: boolean;
  readonly remainingMs: () => number;
}

type Written =
  | { readonly outcome: 'staged'; readonly bytes: number }
  /** An earlier delivery of the same message has done it. */
  | { readonly outcome: 'already_staged'; readonly bytes: number }
  /** The recipient's container of this file comes from a newer request. */
  | { readonly outcome: 'superseded' };

/** What became of the file; all of these are final, the message can go. */
export type StageOutcome = { readonly requestId: string; readonly fileId?: string } & (
  | Written
  | { readonly outcome: 'rejected'; readonly reason: string; readonly detail: string }
);

/**
 * Stage one file for one recipient: the header rebuilt for their key, the body copied as it is. Safe to repeat and to run
 * twice at once: the outbox ends with the whole container of the newest request.
 *
 * @param received a message of the queue `file-exports`
 * @throws TemporarilyUnavailableError, ArchiveDamagedError and what else the ports throw: to be delivered again
 */
export async function stageFile(
  received: ReceivedMessage,
  dependencies: StageDependencies,
  delivery: Delivery,
): Promise<StageOutcome> {
  const { catalogue, log, denied } = dependencies;
  checkTime(delivery);
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
    // Also when an earlier delivery staged it: that one may have ended before it could say so.
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
  // An invocation that died could not abort, whoever has written the container since. One that may still live began
  // later than this.
  if (delivery.redelivered) await outbox.abortUploads(key, new Date(now().getTime() - longestInvocationMs));
  const present = await outbox.head(key);
  const settled = settledBy(present, message);
  if (settled) return settled;

  const body = await bodySource(file, archive);
  const header = headerFor(file, await archiveKeys.candidates(file.keyHash), publicKey);
  const metadata = {
    [outboxMetadata.requestId]: message.requestId,
    [outboxMetadata.requestedAt]: message.requestedAt,
    // Metadata travels in HTTP headers, so an id outside ASCII is percent-encoded.
    [outboxMetadata.fileId]: encodeURIComponent(message.fileId),
    [outboxMetadata.datasetId]: encodeURIComponent(message.datasetId),
    [outboxMetadata.keyFingerprint]: publicKeyFingerprint(publicKey),
  };
  const result = await writeContainer(
    { key, metadata, header, body, replaces: present?.etag },
    {
      archive,
      outbox,
      checkTime: () => checkTime(delivery),
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

/** @throws RequestRejectedError `visa_denied` when what the grant rests on has been denied since it was verified */
async function refuseDenied(
  { recipient, restsOn = [] }: FileExportMessage,
  denied: StageDependencies['denied'],
): Promise<void> {
  const list = await denied();
  if ([recipient, ...restsOn].some((hash) => list.has(hash))) {
    throw rejection('visa_denied', 'the visa or its subject was denied while the file waited');
  }
}

/** What there is nothing left to do for: the container of this request or of a newer one is in its place. */
function settledBy(present: ObjectHead | undefined, message: FileExportMessage): Written | undefined {
  if (!present) return undefined;
  const order = compareRequests(present.metadata, message);
  if (order < 0) return undefined;
  return order === 0 ? { outcome: 'already_staged', bytes: present.size } : { outcome: 'superseded' };
}

function checkTime(delivery: Delivery): void {
  if (delivery.remainingMs() < cleanUpMs) {
    throw new TemporarilyUnavailableError('the invocation ends soon, the file needs another one');
  }
}
