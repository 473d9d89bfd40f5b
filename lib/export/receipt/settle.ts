import type { ObjectHead } from '../../archive/ports.ts';
import { receiptName } from '../../archive/receipt-name.ts';
import { checkTimeLeft } from '../../archive/write-container.ts';
import { type RequestState, receiptType } from '../../contract/delivery.ts';
import { outboxKey, outboxMetadata } from '../../contract/outbox-key.ts';
import { TemporarilyUnavailableError } from '../../errors.ts';
import { secondsSince } from '../seconds-since.ts';
import { compactJws } from './compact-jws.ts';
import { type Entry, entryOf } from './entry.ts';
import { type Issued, receiptPayload } from './payload.ts';
import type { DeliveryLog, ReceiptOutbox, ReceiptSigner, SealedRequest } from './ports.ts';
import { prepareReceipt } from './prepared-receipt.ts';
import { Tally } from './tally.ts';

export interface SettleDependencies {
  readonly log: DeliveryLog;
  /** What writes receipts. @default - none are written, requests are settled all the same */
  readonly receipts?: {
    readonly outbox: ReceiptOutbox;
    readonly signer: ReceiptSigner;
    /** Service id. */
    readonly issuer: string;
  };
  readonly now: () => Date;
}

/** The outcome of a message. Each is final: the message can go. */
export type SettleOutcome =
  | {
      readonly outcome: 'settled';
      readonly state: RequestState;
      readonly staged: number;
      readonly missing: number;
      /** From the request until now. Absent when the request is settled again. */
      readonly seconds?: number;
    }
  /** An earlier delivery of the message has done all. */
  | { readonly outcome: 'already_settled' }
  /** The request is unknown or rejected, or a file of it is open, perhaps again. It is settled later, if at all. */
  | { readonly outcome: 'not_settled' };

/**
 * Settle a request whose files are all settled: decide how it ended and write its delivery receipt. It is safe to repeat and
 * to run twice at once: the outbox ends with one receipt, of the newest generation.
 *
 * The state is recorded before the receipt becomes visible, so a listed receipt belongs to a settled request. The request is
 * closed after that, so one without its receipt can be found.
 *
 * @param remainingMs milliseconds until the invocation ends
 * @throws TemporarilyUnavailableError and other errors of the ports: the message must be delivered again
 */
export async function settleDelivery(
  requestId: string,
  dependencies: SettleDependencies,
  remainingMs: () => number,
): Promise<SettleOutcome> {
  const { log, receipts, now } = dependencies;
  const request = await log.find(requestId);
  if (!request || request.isOpen) return { outcome: 'not_settled' };
  if (request.settledGeneration >= request.generation) return { outcome: 'already_settled' };

  const entries = () => entriesOf(request, log, remainingMs);
  const tally = new Tally();
  const settle = async (): Promise<SettleOutcome> => {
    const settlement = tally.settlement(request);
    const isSettled = await log.settle(request, settlement);
    if (!isSettled) return { outcome: 'not_settled' };
    return {
      ...{ outcome: 'settled', state: settlement.state, staged: tally.staged, missing: tally.missing },
      ...(request.settledGeneration === 0 && { seconds: secondsSince(request.requestedAt, now()) }),
    };
  };
  if (!receipts) {
    for await (const page of entries()) for (const entry of page) tally.add(entry);
    const outcome = await settle();
    if (outcome.outcome === 'settled') await log.close(request, false);
    return outcome;
  }

  const object = receiptObject(request);
  const earlier = await receipts.outbox.head(object.key);
  if (generationOf(earlier) >= request.generation) {
    await log.close(request, true);
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
    const outcome = await settle();
    if (outcome.outcome !== 'settled') return outcome;
    const conflict = (await prepared.publish(earlier?.etag)) === 'conflict';
    isPublished = !conflict || (await publishAfter(request, receipts.outbox, object.key, prepared.publish));
    await log.close(request, true);
    return outcome;
  } finally {
    if (!isPublished) await prepared.abort();
  }
}

/**
 * Publish over what another invocation has put in the way.
 *
 * @returns `false` when that is a receipt of this generation or a newer one
 */
async function publishAfter(
  { generation }: SealedRequest,
  outbox: ReceiptOutbox,
  key: string,
  publish: (replaces: string | undefined) => Promise<string>,
): Promise<boolean> {
  const present = await outbox.head(key);
  if (generationOf(present) >= generation) return false;
  if ((await publish(present?.etag)) === 'written') return true;
  throw new TemporarilyUnavailableError('another invocation wrote this receipt at the same time');
}

async function* entriesOf(
  request: SealedRequest,
  log: DeliveryLog,
  remainingMs: () => number,
): AsyncGenerator<readonly Entry[]> {
  for await (const page of log.files(request.requestId)) {
    checkTimeLeft(remainingMs);
    yield page.map((file) => entryOf(file, request));
  }
}

/** Outbox key and metadata of a receipt. */
function receiptObject({ requestId, requestedAt, datasetId, fileId, recipient, generation }: SealedRequest) {
  return {
    key: outboxKey(recipient, receiptName(fileId ?? datasetId, requestId)),
    metadata: {
      [outboxMetadata.requestId]: requestId,
      [outboxMetadata.requestedAt]: requestedAt,
      [outboxMetadata.datasetId]: encodeURIComponent(datasetId),
      [outboxMetadata.generation]: String(generation),
    },
  };
}

/** 0 for no receipt, and for an object that says none. */
function generationOf(head: ObjectHead | undefined): number {
  return Number(head?.metadata[outboxMetadata.generation] ?? 0) || 0;
}
