import { type Entitlement, grantedAndReleased } from '../archive/entitlement.ts';
import { largestSmallBody } from '../archive/plan.ts';
import { checkTimeLeft } from '../archive/write-container.ts';
import type { ExportRequestMessage, FileExportMessage } from '../contract/messages.ts';
import { outboxPrefix } from '../contract/outbox-key.ts';
import { publicKeyFingerprint } from '../crypt4gh/index.ts';
import { RequestRejectedError } from '../errors.ts';
import { type DatasetGrant, VisaError, type VisaRules } from '../visas/index.ts';
import type { ExportableFile, ExportCatalogue, ExportEvent, ExportLog, FanOuts, FileExports } from './ports.ts';
import { identityOf, parseExportRequest, parseRecipientKey, type ReceivedExportRequest } from './received.ts';
import { rejection } from './rejection.ts';

export interface ConsumeDependencies {
  readonly catalogue: ExportCatalogue;
  /** The queue of large files, and of those whose size the catalogue does not say. */
  readonly fileExports: FileExports;
  /** The queue of files of at most 8 MiB. */
  readonly smallFileExports: FileExports;
  readonly fanOuts: FanOuts;
  readonly log: ExportLog;
  readonly rules: Pick<VisaRules, 'verify'>;
}

/** The outcome of a request. Both are final: the message can go. `files` counts the messages of all deliveries. */
export type ConsumeOutcome = { readonly requestId: string } & (
  | { readonly outcome: 'accepted'; readonly datasetId: string; readonly files: number }
  | { readonly outcome: 'rejected'; readonly reason: string; readonly detail: string }
);

type Known = Omit<ExportEvent, 'event' | 'reason'>;
/** What is known of a request so far, for the audit row. */
type Facts = { -readonly [K in keyof Known]: Known[K] };

/**
 * Carry out one export request: parse → verify the visa → resolve the identifier → entitled? → released? → one message
 * for each file. A repeated run goes on behind the last page of files that is known to be sent. It may send that page
 * again, and staging is idempotent.
 *
 * The audit row is written before the first message is sent. So every staged file has a row, and a request whose row cannot
 * be written is tried again rather than carried out unseen.
 *
 * @param remainingMs milliseconds until the invocation ends; asked before each page. @default - no limit
 * @throws TemporarilyUnavailableError and other errors of the ports: the message must be delivered again
 */
export async function consumeExportRequest(
  received: ReceivedExportRequest,
  dependencies: ConsumeDependencies,
  remainingMs: () => number = () => Number.POSITIVE_INFINITY,
): Promise<ConsumeOutcome> {
  const facts: Facts = { requestId: received.messageId };
  try {
    return await carryOut(received, dependencies, { facts, remainingMs });
  } catch (error) {
    if (!(error instanceof RequestRejectedError)) throw error;
    await dependencies.log.record({ ...facts, event: 'rejected', reason: error.reason });
    return { outcome: 'rejected', requestId: facts.requestId, reason: error.reason, detail: error.message };
  }
}

async function carryOut(
  received: ReceivedExportRequest,
  dependencies: ConsumeDependencies,
  { facts, remainingMs }: { readonly facts: Facts; readonly remainingMs: () => number },
): Promise<ConsumeOutcome> {
  const { catalogue, fanOuts, log, rules } = dependencies;
  const { requestId, requestedAt, archiveKind } = identityOf(received);
  facts.requestId = requestId;
  if (archiveKind !== undefined) facts.archiveKind = archiveKind;
  const message = parseExportRequest(received);
  if (message.datasetId !== undefined) facts.datasetId = message.datasetId;
  if (message.fileId !== undefined) facts.fileId = message.fileId;
  const publicKey = parseRecipientKey(message.publicKey);
  facts.keyFingerprint = publicKeyFingerprint(publicKey);

  const grants = await grantsOf(message.jwtToken, rules);
  const {
    datasetId,
    grants: [{ subject, restsOn }],
  } = await entitlementTo(message, grants, catalogue);
  const recipient = outboxPrefix(subject);
  Object.assign(facts, { datasetId, recipient });

  const common = {
    requestId,
    requestedAt: requestedAt.toISOString(),
    datasetId,
    recipient,
    publicKey: Buffer.from(publicKey).toString('base64'),
    restsOn: restsOn.filter((hash) => hash !== recipient),
  };
  const isDataset = message.fileId === undefined;
  const progress = isDataset ? await fanOuts.progressOf(requestId, datasetId) : undefined;
  let files = progress?.files ?? 0;
  for await (const page of filesOf(message, datasetId, progress?.sentTo ?? '', catalogue)) {
    const sentTo = page.at(-1)?.fileId;
    if (sentTo === undefined) continue;
    checkTimeLeft(remainingMs);
    if (files === 0) await log.record({ ...facts, event: 'accepted' });
    await sendPage(page, common, dependencies);
    files += page.length;
    if (isDataset) await fanOuts.save(requestId, datasetId, { sentTo, files });
  }
  if (files === 0) throw rejection('nothing_to_export', 'the dataset holds no file');
  return { outcome: 'accepted', requestId, datasetId, files };
}

/** Small files are staged ten at a time, large ones each by itself. */
async function sendPage(
  page: readonly ExportableFile[],
  common: Omit<FileExportMessage, 'fileId'>,
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
): AsyncGenerator<readonly ExportableFile[]> {
  if (fileId === undefined) yield* catalogue.exportableFiles(datasetId, after);
  else yield [{ fileId, archiveFileSize: await catalogue.archiveFileSize(fileId) }];
}
