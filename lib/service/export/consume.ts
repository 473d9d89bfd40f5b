import { limits } from '../../contract/limits.ts';
import type { ExportRequestMessage } from '../../contract/messages.ts';
import { outboxPrefix } from '../../contract/outbox-key.ts';
import { publicKeyFingerprint } from '../../crypt4gh/index.ts';
import { type DataOutError, isError, unavailable } from '../../errors.ts';
import { type DatasetGrant, VisaError, type VisaRules } from '../../visas/index.ts';
import { type Entitlement, grantedAndReleased } from '../archive/entitlement.ts';
import { largestSmallBody } from '../archive/plan.ts';
import { checkTimeLeft, cleanUpMs } from '../archive/write-container.ts';
import { closeFanOut, failureCode, mostWithoutProgress, sendFinalizable } from './finalizing.ts';
import type { FanOutProgress, FanOuts, Receive, RefusedRequest, Unsent } from './ledger-port.ts';
import type {
  Deliveries,
  ExportableFile,
  ExportablePage,
  ExportCatalogue,
  FileExport,
  FileExports,
  RemovableOutbox,
} from './ports.ts';
import {
  identityOf,
  parseExportRequest,
  parseRecipientKey,
  type ReceivedExportRequest,
  rejection,
} from './received.ts';

export interface ConsumeDependencies {
  readonly catalogue: ExportCatalogue;
  /** The queue of large files, and of those whose size the catalogue does not say. */
  readonly fileExports: FileExports;
  /** The queue of files of at most 8 MiB. */
  readonly smallFileExports: FileExports;
  readonly ledger: FanOuts;
  readonly deliveries: Deliveries;
  readonly outbox: Pick<RemovableOutbox, 'markOpen'>;
  readonly rules: Pick<VisaRules, 'verify'>;
}

/** The outcome of a request. Both are final: the message can go. `files` counts the messages of all deliveries. */
export type ConsumeOutcome = { readonly requestId: string } & (
  | { readonly outcome: 'accepted'; readonly datasetId: string; readonly files: number }
  | { readonly outcome: 'rejected'; readonly reason: string; readonly detail: string }
);

interface Work {
  request: RefusedRequest;
  /** How far an earlier delivery came. `undefined`: none has accepted the request. */
  unfinished?: FanOutProgress;
  /** Every message is sent: a failure after that is not a failure of the fan-out. */
  isFannedOut?: boolean;
  /** The last receive in which the fan-out came further. `undefined`: not known yet. */
  cameFurtherAt?: number;
}

/**
 * Carry out one export request: parse → verify the visa → resolve the identifier → entitled? → released? → within the
 * quota of the outbox? → one message for each file. A repeated run continues behind the last page of files that is known to be
 * sent. It may send that page again, and staging is idempotent.
 *
 * The audit row, and a row for each file of a page, are written before their messages are sent. So every staged file has
 * rows, and a request whose rows cannot be written is tried again rather than carried out unseen. A fan-out that fails for
 * the last time is given up with its unsent files.
 *
 * @param remainingMs milliseconds until the invocation ends; asked before each page
 * @throws errors of the ports: the message must be delivered again
 */
export async function consumeExportRequest(
  received: ReceivedExportRequest,
  dependencies: ConsumeDependencies,
  remainingMs: () => number,
): Promise<ConsumeOutcome> {
  const { ledger } = dependencies;
  const work: Work = { request: { requestId: received.messageId, requestedAt: received.sentAt } };
  const closeUnsent = async (unsent: Unsent) => {
    const { request, unfinished } = work;
    if (!unfinished) return;
    const mayGoOn = () => remainingMs() >= cleanUpMs;
    const isClosed = await closeFanOut(request.requestId, unfinished, unsent, dependencies, mayGoOn);
    if (!isClosed) throw unfinishedFanOut();
  };
  try {
    return await carryOut(received, dependencies, work, remainingMs);
  } catch (error) {
    if (isError(error, 'request_rejected')) {
      const { code, reason = code, message: detail } = error;
      await ledger.reject(work.request, reason);
      await closeUnsent({ state: 'rejected', reason });
      return { outcome: 'rejected', requestId: work.request.requestId, reason, detail };
    }
    if (isGivenUp(work, received.receive)) {
      // If this also fails, the reconciliation does it. The message goes to the dead letters for the first failure.
      await ledger
        .fail(work.request, failureCode(error))
        .then(() => closeUnsent({ state: 'given_up', reason: 'not_sent' }))
        .catch(() => undefined);
    }
    throw error;
  }
}

/** Whether a failure of this delivery is the end of the fan-out. */
function isGivenUp({ isFannedOut, cameFurtherAt }: Work, { count, isLast }: Receive): boolean {
  if (isFannedOut) return false;
  return isLast || (cameFurtherAt !== undefined && count - cameFurtherAt >= mostWithoutProgress);
}

async function carryOut(
  received: ReceivedExportRequest,
  dependencies: ConsumeDependencies,
  work: Work,
  remainingMs: () => number,
): Promise<ConsumeOutcome> {
  const { catalogue, ledger, rules } = dependencies;
  const { receive } = received;
  const { requestId, requestedAt, archiveKind } = identityOf(received);
  work.request = { requestId, requestedAt, archiveKind };
  const known = await ledger.begin(requestId, receive);
  work.cameFurtherAt = known?.cameFurtherAt ?? 0;
  if (known?.isFannedOut && known.state === 'failed' && receive.count - known.cameFurtherAt > mostWithoutProgress) {
    work.isFannedOut = true;
    throw givenUpFanOut();
  }
  if (known?.isFannedOut && known.datasetId !== undefined && known.state !== 'rejected' && known.state !== 'failed') {
    work.isFannedOut = true;
    await sendFinalizable([requestId], dependencies);
    return { outcome: 'accepted', requestId, datasetId: known.datasetId, files: known.files };
  }
  if (known?.state === 'accepted') work.unfinished = known;
  const message = parseExportRequest(received);
  work.request = { ...work.request, datasetId: message.datasetId, fileId: message.fileId };
  const publicKey = parseRecipientKey(message.publicKey);
  const keyFingerprint = publicKeyFingerprint(publicKey);
  work.request = { ...work.request, keyFingerprint };

  const grants = await grantsOf(message.jwtToken, rules);
  const {
    datasetId,
    grants: [{ subject, dependsOn }],
  } = await entitlementTo(message, grants, catalogue);
  if (message.fileId === undefined && !known && (await catalogue.hasMoreFiles(datasetId, limits.filesPerExport))) {
    throw rejection('too_many_files', `the dataset has more than ${limits.filesPerExport} files: export it by parts`);
  }
  const recipient = outboxPrefix(subject);
  const request = { ...work.request, datasetId, recipient, keyFingerprint };
  work.request = request;

  const common = {
    requestId,
    requestedAt: requestedAt.toISOString(),
    datasetId,
    recipient,
    publicKey: Buffer.from(publicKey).toString('base64'),
    dependsOn: dependsOn.filter((hash) => hash !== recipient),
  };
  let progress: FanOutProgress = { sentTo: known?.sentTo ?? '', files: known?.files ?? 0 };
  const accept = async (fileIds: readonly string[]) => {
    await dependencies.outbox.markOpen();
    const fits = await ledger.accept(request, fileIds, receive);
    if (!fits) throw rejection('outbox_quota_exceeded', "the recipient's part of the outbox would exceed its quota");
    work.unfinished = progress;
  };
  for await (const page of filesOf(message, datasetId, progress.sentTo, catalogue)) {
    const fileIds = page.files.map(({ fileId }) => fileId);
    if (fileIds.length === 0) continue;
    try {
      checkTimeLeft(remainingMs);
    } catch (error) {
      // So that no message is sent twice.
      if (work.unfinished) await ledger.addFiles(requestId, progress, [], receive);
      throw work.cameFurtherAt === receive.count ? unfinishedFanOut(error) : error;
    }
    if (work.unfinished) await ledger.addFiles(requestId, progress, fileIds, receive);
    else await accept(fileIds);
    await sendPage(page.files, common, dependencies);
    progress = { sentTo: page.end, files: progress.files + fileIds.length };
    work.cameFurtherAt = receive.count;
    work.unfinished = progress;
  }
  if (progress.files === 0) throw rejection('nothing_to_export', 'the dataset holds no file');
  if (!work.unfinished) await accept([]);
  const mayFinalize = await ledger.completeFanOut(requestId, progress);
  work.isFannedOut = true;
  if (mayFinalize) await sendFinalizable([requestId], dependencies);
  return { outcome: 'accepted', requestId, datasetId, files: progress.files };
}

/** Small files are staged ten at a time, large ones each separately. */
async function sendPage(
  page: readonly ExportableFile[],
  common: Omit<FileExport, 'fileId'>,
  { fileExports, smallFileExports }: ConsumeDependencies,
): Promise<void> {
  const isSmall = ({ archiveFileSize }: ExportableFile) =>
    archiveFileSize !== undefined && archiveFileSize <= largestSmallBody;
  const messages = (files: readonly ExportableFile[]) => files.map(({ fileId }) => ({ ...common, fileId }));
  const [small, large] = [page.filter(isSmall), page.filter((file) => !isSmall(file))];
  if (small.length > 0) await smallFileExports.send(messages(small));
  if (large.length > 0) await fileExports.send(messages(large));
}

async function grantsOf(token: string, rules: ConsumeDependencies['rules']): Promise<readonly DatasetGrant[]> {
  try {
    return (await rules.verify(token)).grants;
  } catch (error) {
    if (error instanceof VisaError) throw rejection(`visa_${error.code}`, error.message);
    throw error;
  }
}

/**
 * The dataset through which the request is served. A file may be in several that are granted and released. The first by id
 * counts, so that every delivery of the message takes the same one.
 */
async function entitlementTo(
  { datasetId, fileId }: ExportRequestMessage,
  grants: readonly DatasetGrant[],
  catalogue: ExportCatalogue,
): Promise<Entitlement> {
  const wanted = fileId === undefined ? { datasetId: datasetId ?? '' } : { fileId };
  const { known, granted, entitlements } = await grantedAndReleased(catalogue, grants, wanted);
  if (!known && fileId === undefined) throw rejection('unknown_dataset', 'no dataset has this id or alias');
  if (!known) throw rejection('unknown_file', 'no dataset holds a file of this id');
  if (!granted) throw rejection('not_entitled', 'no visa grants the dataset');
  const [entitlement] = entitlements;
  if (!entitlement) throw rejection('not_released', 'the dataset is granted and not released');
  return entitlement;
}

async function* filesOf(
  { fileId }: ExportRequestMessage,
  datasetId: string,
  after: string,
  catalogue: ExportCatalogue,
): AsyncGenerator<ExportablePage> {
  if (fileId === undefined) yield* catalogue.exportableFiles(datasetId, after);
  else if (after === '') {
    const page = await catalogue.exportableFile(fileId);
    if (page) yield page;
  }
}

function unfinishedFanOut(cause?: unknown): DataOutError {
  const message = 'the invocation ends soon, the next one continues with the files of the request';
  return unavailable(message, { retryAfterSeconds: 0, cause });
}

/** Only SQS puts the message of a fan-out that is given up into the dead letters, so it comes back until its receives are used up. */
function givenUpFanOut(): DataOutError {
  const message = `${mostWithoutProgress} deliveries brought the request no further: it is given up`;
  return unavailable(message, { retryAfterSeconds: 0 });
}
