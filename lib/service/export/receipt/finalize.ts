import { type RequestState, receiptType } from '../../../contract/delivery.ts';
import { outboxKey, outboxMetadata } from '../../../contract/outbox-key.ts';
import { unavailable } from '../../../errors.ts';
import type { ObjectHead } from '../../archive/ports.ts';
import { checkTimeLeft } from '../../archive/write-container.ts';
import { secondsSince } from '../finalizing.ts';
import type { FannedOutRequest, ReceiptRecords } from '../ledger-port.ts';
import type { ReceiptOutbox, ReceiptSigner } from '../ports.ts';
import { type Entry, entryOf, type Issued, receiptName, receiptPayload, Tally } from './payload.ts';
import { compactJws, prepareReceipt } from './prepared-receipt.ts';

export interface FinalizeDependencies {
  readonly ledger: ReceiptRecords;
  /** What writes receipts. @default - none are written, requests are finalized all the same */
  readonly receipts?: {
    readonly outbox: ReceiptOutbox;
    readonly signer: ReceiptSigner;
    /** Service id. */
    readonly issuer: string;
  };
  readonly now: () => Date;
}

/** The outcome of a message. Each is final: the message can go. */
export type FinalizeOutcome =
  | {
      readonly outcome: 'settled';
      readonly state: RequestState;
      readonly staged: number;
      readonly missing: number;
      /** From the request until now. Absent when the request is finalized again. */
      readonly seconds?: number;
    }
  /** An earlier delivery of the message has done all. */
  | { readonly outcome: 'already_settled' }
  /** The request is unknown or rejected, or a file of it is open, perhaps again. It is finalized later, if at all. */
  | { readonly outcome: 'not_settled' };

/**
 * Finalize a request whose files have all ended: decide how it ended and write its delivery receipt. It is safe to repeat and
 * to run twice at once: the outbox ends with one receipt, of the newest revision.
 *
 * The state is recorded before the receipt becomes visible, so a listed receipt belongs to a finalized request. The request is
 * closed after that, so one without its receipt can be found.
 *
 * @throws errors of the ports: the message must be delivered again
 */
export async function finalizeDelivery(
  requestId: string,
  dependencies: FinalizeDependencies,
  remainingMs: () => number,
): Promise<FinalizeOutcome> {
  const { ledger, receipts, now } = dependencies;
  const request = await ledger.find(requestId);
  if (!request || request.isOpen) return { outcome: 'not_settled' };
  if (request.finalizedRevision >= request.receiptRevision) return { outcome: 'already_settled' };

  const entries = () => entriesOf(request, ledger, remainingMs);
  const tally = new Tally();
  const finalizeRequest = async (): Promise<FinalizeOutcome> => {
    const end = tally.end(request);
    const isFinalized = await ledger.finalize(request, end);
    if (!isFinalized) return { outcome: 'not_settled' };
    return {
      ...{ outcome: 'settled', state: end.state, staged: tally.staged, missing: tally.missing },
      ...(request.finalizedRevision === 0 && { seconds: secondsSince(request.requestedAt, now()) }),
    };
  };
  if (!receipts) {
    for await (const page of entries()) for (const entry of page) tally.add(entry);
    const outcome = await finalizeRequest();
    if (outcome.outcome === 'settled') await ledger.close(request, false);
    return outcome;
  }

  const object = receiptObject(request);
  const earlier = await receipts.outbox.head(object.key);
  if (revisionOf(earlier) >= request.receiptRevision) {
    await ledger.close(request, true);
    return { outcome: 'already_settled' };
  }
  const issued: Issued = { issuer: receipts.issuer, issuedAt: now() };
  const header = { alg: 'ES256', typ: receiptType, ...(await receipts.signer.identity()) };
  const payload = receiptPayload(request, issued, entries, tally);
  const jws = compactJws(header, payload, (digest) => receipts.signer.sign(digest));
  const prepared = await prepareReceipt(receipts.outbox, object, jws);
  let isPublished = false;
  try {
    checkTimeLeft(remainingMs);
    const outcome = await finalizeRequest();
    if (outcome.outcome !== 'settled') return outcome;
    const conflict = (await prepared.publish(earlier?.etag)) === 'conflict';
    isPublished = !conflict || (await publishAfter(request, receipts.outbox, object.key, prepared.publish));
    await ledger.close(request, true);
    return outcome;
  } finally {
    if (!isPublished) await prepared.abort();
  }
}

/**
 * Publish over what another invocation has put in the way.
 *
 * @returns `false` when that is a receipt of this revision or a newer one
 */
async function publishAfter(
  { receiptRevision }: FannedOutRequest,
  outbox: ReceiptOutbox,
  key: string,
  publish: (replaces: string | undefined) => Promise<string>,
): Promise<boolean> {
  const present = await outbox.head(key);
  if (revisionOf(present) >= receiptRevision) return false;
  if ((await publish(present?.etag)) === 'written') return true;
  throw unavailable('another invocation wrote this receipt at the same time');
}

async function* entriesOf(
  request: FannedOutRequest,
  ledger: ReceiptRecords,
  remainingMs: () => number,
): AsyncGenerator<readonly Entry[]> {
  for await (const page of ledger.files(request.requestId)) {
    checkTimeLeft(remainingMs);
    yield page.map((file) => entryOf(file, request));
  }
}

function receiptObject({ requestId, requestedAt, datasetId, fileId, recipient, receiptRevision }: FannedOutRequest) {
  return {
    key: outboxKey(recipient, receiptName(fileId ?? datasetId, requestId)),
    metadata: {
      [outboxMetadata.requestId]: requestId,
      [outboxMetadata.requestedAt]: requestedAt,
      [outboxMetadata.datasetId]: encodeURIComponent(datasetId),
      [outboxMetadata.generation]: String(receiptRevision),
    },
  };
}

/** 0 for no receipt, and for an object that says none. */
function revisionOf(head: ObjectHead | undefined): number {
  return Number(head?.metadata[outboxMetadata.generation] ?? 0) || 0;
}
