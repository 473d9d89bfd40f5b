import * as z from 'zod';
import { crcOf, formatCrc } from '../../../common/crc64nvme.ts';
import { filesPerReceipt, receiptSuffix, receiptType, requestStates } from '../../../contract/delivery.ts';
import { outboxKey, outboxMetadata } from '../../../contract/outbox-key.ts';
import { unavailable } from '../../../errors.ts';
import type { ObjectHead } from '../../archive/ports.ts';
import { idPart } from '../../containers/container-name.ts';
import { checkTimeLeft } from '../../containers/write-container.ts';
import { camelRow, isoTime, optional, timeFormat } from '../../stores/rds/columns.ts';
import type { SqlExecutor } from '../../stores/rds/data-api.ts';
import { compactJws, type ReceiptSigner } from '../../stores/receipt-signer.ts';
import type { Outbox } from '../../stores/s3/outbox.ts';
import { audit, hasOpenFiles, isUnsettled, requestIds, secondsSince } from '../requests.ts';
import { addTo, entryOf, ReceiptLines, stateOf, type Tally } from './receipt.ts';
import { filesForReceipt } from './receipt-files.ts';

export interface SettleDependencies {
  readonly db: SqlExecutor;
  /** What writes receipts. @default - none are written, and requests are settled all the same */
  readonly receipts?: {
    readonly outbox: Pick<Outbox, 'head' | 'put'>;
    readonly signer: ReceiptSigner;
    /** Service id. */
    readonly issuer: string;
  };
  readonly now: () => Date;
  /** Most files of one receipt. @default 100,000 */
  readonly filesPerPart?: number;
}

const requestRow = camelRow({
  request_id: z.string(),
  requested_at: z.string(),
  kind: z.enum(['dataset', 'file']),
  dataset_id: z.string(),
  file_id: optional(z.string()),
  recipient: z.string(),
  key_fingerprint: z.string(),
  state: z.enum(requestStates),
  files: z.number(),
  revision: z.number(),
  settled_revision: z.number(),
  is_open: z.boolean(),
});

/** A request that is to be settled. `fileId` is that of the one file that was asked for. */
type SettlingRequest = z.infer<typeof requestRow>;

/**
 * Settle a request whose files have all ended: decide how it ended and write its delivery receipts. It is safe to repeat and to run twice
 * at once: the outbox ends with the receipts of the newest revision. The next run continues after the last part that one which died has written.
 *
 * The state is recorded before the last receipt becomes visible, so a whole receipt belongs to a request that has ended. The revision
 * counts as settled after that, so a request without its receipt can be found.
 *
 * @returns `already_settled`: an earlier delivery has done all. `not_settled`: the request is gone or rejected, or a file of it is open. It
 * is settled later, if at all. Without `seconds`, which are from the request until now, the request was settled before.
 */
export async function settleRequest(requestId: string, dependencies: SettleDependencies, remainingMs: () => number) {
  const { db, receipts, now, filesPerPart = filesPerReceipt } = dependencies;
  const request = await findSettling(db, requestId);
  if (!request || request.isOpen) return { outcome: 'not_settled' as const };
  if (request.settledRevision >= request.revision) return { outcome: 'already_settled' as const };

  const parts = Math.ceil(request.files / filesPerPart);
  const tally: Tally = { staged: 0, stagedBytes: 0, missing: 0, withdrawn: 0 };
  for (let part = 1; part <= parts; part += 1) {
    const key = outboxKey(request.recipient, nameOf(request, part === parts ? undefined : part));
    const present = await receipts?.outbox.head(key);
    if (revisionOf(present) > request.revision) return { outcome: 'not_settled' as const };
    if (revisionOf(present) === request.revision) {
      Object.assign(tally, JSON.parse(present?.metadata[outboxMetadata.tally] ?? '{}'));
    } else {
      const lines = await readPart(request, tally, dependencies, remainingMs);
      if (part === parts && !(await recordEnd(db, request, tally))) return { outcome: 'not_settled' as const };
      if (receipts) await writeReceipt(request, lines, tally, { key, part, parts, present }, receipts, now());
    }
  }
  await db.execute(
    `update data_out.requests r set settled_revision = :revision, receipt = coalesce(:receipt, r.receipt)
     where r.request_id = cast(:request_id as uuid) and r.settled_revision < :revision`,
    { request_id: { uuid: requestId }, revision: request.revision, receipt: receipts ? nameOf(request) : null },
  );
  return {
    ...{ outcome: 'settled' as const, state: stateOf(tally), staged: tally.staged, missing: tally.missing },
    ...(request.settledRevision === 0 && { seconds: secondsSince(request.requestedAt, now()) }),
  };
}

/** Read the next files for one receipt. @param tally counts those before, and then these */
async function readPart(
  request: SettlingRequest,
  tally: Tally,
  { db, filesPerPart = filesPerReceipt }: SettleDependencies,
  remainingMs: () => number,
): Promise<ReceiptLines> {
  const lines = new ReceiptLines();
  for await (const page of filesForReceipt(db, request.requestId, tally.staged + tally.missing)) {
    checkTimeLeft(remainingMs);
    for (const file of page.slice(0, filesPerPart - lines.count)) {
      const entry = entryOf(file, request);
      addTo(tally, entry);
      lines.add(entry);
    }
    if (lines.count === filesPerPart) break;
  }
  return lines;
}

async function findSettling(db: SqlExecutor, requestId: string): Promise<SettlingRequest | undefined> {
  const [row] = await db.query(
    requestRow,
    `select cast(r.request_id as text) as request_id, ${isoTime('r.requested_at')} as requested_at, r.kind, r.dataset_id,
       case r.kind when 'file' then r.file_id end as file_id, r.recipient, r.key_fingerprint, r.state, r.files, r.revision,
       r.settled_revision, ${hasOpenFiles('r.request_id')} as is_open
     from data_out.requests r
     where r.request_id = cast(:request_id as uuid) and r.state <> 'rejected' and r.recipient is not null`,
    { request_id: { uuid: requestId }, ...timeFormat },
  );
  return row;
}

/** @returns `false` when the request has a newer revision or an open file by now, is settled, or was erased: nothing was changed */
async function recordEnd(db: SqlExecutor, { requestId, revision }: SettlingRequest, tally: Tally): Promise<boolean> {
  const ended = await requestIds(
    db,
    `with ended as (
       update data_out.requests r
       set state = :state, staged = cast(:staged as integer), staged_bytes = cast(:staged_bytes as bigint), settled_at = now()
       where r.request_id = cast(:request_id as uuid) and r.revision = :revision and ${isUnsettled}
         and r.recipient is not null and not ${hasOpenFiles('r.request_id')}
       returning r.*
     ), audited as (
       ${audit(`select request_id, 'settled', state, archive_kind, dataset_id, file_id, recipient, key_fingerprint, staged_bytes,
         cast(null as text) from ended`)}
     )
     select cast(request_id as text) as request_id from ended`,
    {
      ...{ request_id: { uuid: requestId }, revision },
      ...{ state: stateOf(tally), staged: tally.staged, staged_bytes: tally.stagedBytes },
    },
  );
  return ended.length > 0;
}

/** Outbox name of a receipt. @param part of one that is not the last of its request */
function nameOf({ fileId, datasetId, requestId }: SettlingRequest, part?: number): string {
  return `${idPart(fileId ?? datasetId)}-${requestId}${part === undefined ? '' : `.part-${part}`}${receiptSuffix}`;
}

/** Write one receipt, unless another invocation has meanwhile written that of this revision or a newer one. */
async function writeReceipt(
  request: SettlingRequest,
  lines: ReceiptLines,
  tally: Tally,
  { key, part, parts, present }: { key: string; part: number; parts: number; present: ObjectHead | undefined },
  { outbox, signer, issuer }: NonNullable<SettleDependencies['receipts']>,
  issuedAt: Date,
): Promise<void> {
  const metadata = {
    [outboxMetadata.requestId]: request.requestId,
    [outboxMetadata.requestedAt]: request.requestedAt,
    [outboxMetadata.datasetId]: encodeURIComponent(request.datasetId),
    [outboxMetadata.generation]: String(request.revision),
    [outboxMetadata.tally]: JSON.stringify(tally),
  };
  const isComplete = part === parts && tally.missing === 0;
  const payload = lines.payload(request, { issuer, issuedAt, isComplete, ...(parts > 1 && { part, parts }) });
  const header = { alg: 'ES256', typ: receiptType, ...(await signer.identity()) };
  const jws = await compactJws(header, payload, (digest) => signer.sign(digest));
  const crc64nvme = formatCrc(await crcOf(jws));
  let replaced = present;
  for (const _ of ['the receipt that was seen', 'one that another invocation wrote meanwhile']) {
    if ((await outbox.put(key, jws, metadata, replaced?.etag, crc64nvme)) === 'written') return;
    replaced = await outbox.head(key);
    if (part === parts && revisionOf(replaced) >= request.revision) return;
    if (revisionOf(replaced) >= request.revision) break;
  }
  throw unavailable('another invocation wrote this receipt at the same time');
}

/** 0 for no receipt, and for an object that says none. */
function revisionOf(head: ObjectHead | undefined): number {
  return Number(head?.metadata[outboxMetadata.generation] ?? 0) || 0;
}
