import { outboxFileName } from '../archive/container-name.ts';
import { namingFile } from '../archive/naming-file.ts';
import { largestSmallBody } from '../archive/plan.ts';
import { checkTimeLeft } from '../archive/write-container.ts';
import { outboxKey } from '../contract/outbox-key.ts';
import { publicKeyFingerprint } from '../crypt4gh/index.ts';
import { RequestRejectedError } from '../errors.ts';
import { type Delivery, refuseDenied, type StageDependencies, type Written } from './order.ts';
import type { ExportEvent } from './ports.ts';
import { parseFileExport, parseRecipientKey, type ReceivedMessage } from './received.ts';
import { rejection } from './rejection.ts';
import { dropCopy, stageLarge } from './stage-large.ts';
import { stageSmall } from './stage-small.ts';

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
    const key = outboxKey(recipient, outboxFileName(fileId, file.submissionFilePath));
    const stage = file.archiveFileSize <= largestSmallBody ? stageSmall : stageLarge;
    const written = await namingFile(fileId, () => stage({ key, message, publicKey, file }, dependencies, delivery));
    // Also when an earlier delivery staged it: that one may have ended before it wrote the row.
    if (written.outcome !== 'superseded') {
      const { bytes } = written;
      const checksum = 'checksum' in written ? { checksum: written.checksum } : {};
      await log.record({ ...facts, event: 'staged', bytes, ...checksum });
    }
    return { requestId, fileId, ...written };
  } catch (error) {
    if (!(error instanceof RequestRejectedError)) throw error;
    const { reason, message: detail } = error;
    await log.record({ ...facts, event: 'rejected', reason });
    const { requestId, fileId } = facts;
    if (fileId !== undefined && delivery.redelivered) await dropCopy({ requestId, fileId }, dependencies);
    return { requestId, ...(fileId !== undefined && { fileId }), outcome: 'rejected', reason, detail };
  }
}
