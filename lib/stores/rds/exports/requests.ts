import * as z from 'zod';
import { requestStates } from '../../../contract/delivery.ts';
import type { ExportEvent } from '../../../export/ports.ts';
import {
  type AcceptedRequest,
  type FanOutProgress,
  type KnownRequest,
  mostFruitless,
  type Receive,
  type RefusedRequest,
  type Requests,
  type Unsent,
} from '../../../export/settling.ts';
import { datasetNamed, isIngested, nextMembers, rowId } from '../archive/dataset-files.ts';
import { count, pageSize } from '../columns.ts';
import type { DataApi, SqlExecutor } from '../data-api.ts';
import { auditRows, insertEvents } from './export-log.ts';
import { isOpen, maySettle } from './open-files.ts';
import { fitsQuota, lockRecipient, type OutboxQuota } from './outbox-quota.ts';

const knownRow = z.object({
  state: z.enum(requestStates),
  sent_to: z.string(),
  files: count,
  is_sealed: z.boolean(),
  came_further_at: count,
  dataset_id: z.string().nullable(),
});

const ofRequest = 'request_id = cast(:request_id as uuid)';

/** Records files as `pending`, also those that were given up: their messages are about to be sent. */
const addPending = `insert into data_out.request_files as f (request_id, file_id, state)
  select cast(:request_id as uuid), file_id, 'pending'
  from jsonb_array_elements_text(cast(:file_ids as jsonb)) as ids (file_id)
  order by file_id
  on conflict (request_id, file_id) do update set state = 'pending', reason = null, updated_at = now()
  where f.state = 'given_up'`;

/** Adds the row of a request with its columns from the parameters of {@link columnsOf}. */
const insertRequest = (more: string, values: string) => `insert into data_out.requests as r
    (request_id, requested_at, archive_kind, kind, dataset_id, file_id, recipient, key_fingerprint, ${more})
  values (cast(:request_id as uuid), cast(:requested_at as timestamptz), :archive_kind, :kind, :dataset_id, :file_id,
    :recipient, :key_fingerprint, ${values})`;

/** The table `data_out.requests`, as the fan-out writes it. */
export class RdsRequests implements Requests {
  readonly #db: DataApi;
  readonly #mostInFlight: number;
  readonly #quota: OutboxQuota | undefined;

  /**
   * @param mostInFlight most files that all invocations together stage at once
   * @param quota of the outbox. Without it `accept` takes every request, by one statement
   */
  constructor(db: DataApi, mostInFlight: number, quota?: OutboxQuota) {
    this.#db = db;
    this.#mostInFlight = mostInFlight;
    this.#quota = quota;
  }

  async begin(requestId: string, receive: Receive): Promise<KnownRequest | undefined> {
    const cameFurtherAt = 'least(came_further_at, cast(:receive as integer) - 1)';
    const [row] = await this.#db.query(
      knownRow,
      `with tried as (
         update data_out.requests set tried_at = now(), came_further_at = ${cameFurtherAt},
           is_last_try = :is_last_try or cast(:receive as integer) - ${cameFurtherAt} >= ${mostFruitless}
         where ${ofRequest} and sealed_at is null
       )
       select state, sent_to, files, sealed_at is not null as is_sealed, dataset_id, ${cameFurtherAt} as came_further_at
       from data_out.requests where ${ofRequest}`,
      { request_id: { uuid: requestId }, receive: receive.count, is_last_try: receive.isLast },
    );
    return row && knownRequest(row);
  }

  async accept(request: AcceptedRequest, fileIds: readonly string[], receive: Receive): Promise<boolean> {
    const quota = this.#quota;
    if (!quota) {
      await this.#accept(this.#db, request, fileIds, receive);
      return true;
    }
    return await this.#db.transaction(async (transaction) => {
      await lockRecipient(transaction, request.recipient);
      const fits = await fitsQuota(transaction, request, quota);
      if (fits) await this.#accept(transaction, request, fileIds, receive);
      return fits;
    });
  }

  async #accept(
    db: SqlExecutor,
    request: AcceptedRequest,
    fileIds: readonly string[],
    receive: Receive,
  ): Promise<void> {
    await db.execute(
      `with accepted as (
         ${insertRequest('state, tried_at, is_last_try', "'accepted', now(), :is_last_try")}
         on conflict (request_id) do update set
           state = 'accepted', reason = null, archive_kind = excluded.archive_kind, kind = excluded.kind,
           dataset_id = excluded.dataset_id, file_id = excluded.file_id, recipient = excluded.recipient,
           key_fingerprint = excluded.key_fingerprint, sealed_at = null, tried_at = now(),
           closed_to = null, closed = 0,
           came_further_at = least(r.came_further_at, cast(:receive as integer) - 1), is_last_try = excluded.is_last_try, updated_at = now(),
           generation = case when r.sealed_at is null then r.generation else r.generation + 1 end
         where r.state in ('rejected', 'failed')
       ), audited as (
         ${insertEvents}
       )
       ${addPending}`,
      {
        ...columnsOf(request),
        is_last_try: receive.isLast || receive.count >= mostFruitless,
        receive: receive.count,
        file_ids: { json: fileIds },
        events: auditRows([eventOf(request, 'accepted')]),
      },
    );
  }

  async addFiles(
    requestId: string,
    { sentTo, files }: FanOutProgress,
    fileIds: readonly string[],
    receive: Receive,
  ): Promise<void> {
    await this.#db.execute(
      `with saved as (
         update data_out.requests set sent_to = :sent_to, files = :files, came_further_at = :receive,
           is_last_try = :is_last_try, updated_at = now()
         where ${ofRequest} and sent_to < :sent_to
       )
       ${addPending}`,
      {
        request_id: { uuid: requestId },
        ...{ sent_to: sentTo, files, receive: receive.count, is_last_try: receive.isLast },
        file_ids: { json: fileIds },
      },
    );
  }

  async seal(requestId: string, { sentTo, files }: FanOutProgress): Promise<boolean> {
    const [row] = await this.#db.query(
      z.object({ may_settle: z.boolean() }),
      `update data_out.requests set
         sent_to = greatest(sent_to, :sent_to), files = greatest(files, cast(:files as integer)),
         sealed_at = coalesce(sealed_at, now()), is_last_try = false, updated_at = now()
       where ${ofRequest}
       returning ${maySettle('cast(:request_id as uuid)', this.#mostInFlight)} as may_settle`,
      { request_id: { uuid: requestId }, sent_to: sentTo, files },
    );
    return row?.may_settle ?? false;
  }

  reject(request: RefusedRequest, reason: string): Promise<void> {
    return this.#refuse(request, 'rejected', reason, 'nothing');
  }

  fail(request: RefusedRequest, reason: string): Promise<void> {
    const update = `update set state = 'failed', reason = excluded.reason, updated_at = now()
       where r.state = 'accepted' and r.sealed_at is null`;
    return this.#refuse(request, 'failed', reason, update);
  }

  /** A request that was not accepted before gets no receipt: nothing remains to be done. */
  async #refuse(
    request: RefusedRequest,
    state: 'rejected' | 'failed',
    reason: string,
    otherwise: string,
  ): Promise<void> {
    await this.#db.execute(
      `with refused as (
         ${insertRequest(
           'state, reason, sealed_at, settled_at, settled_generation',
           ':state, cast(:reason as text), now(), now(), 1',
         )}
         on conflict (request_id) do ${otherwise}
       )
       ${insertEvents}`,
      { ...columnsOf(request), state, reason, events: auditRows([eventOf(request, state, reason)]) },
    );
  }

  async closeUnsent(requestId: string, { sentTo, files }: FanOutProgress, { state, reason }: Unsent): Promise<boolean> {
    const [row] = await this.#db.query(
      z.object({ looked_at: count }),
      `with request as materialized (
         select r.kind, r.dataset_id, r.file_id, greatest(r.closed_to, ${rowId(':sent_to')}) as after
         from data_out.requests r where r.${ofRequest}
       ), page as materialized (
         select f.id, f.stable_id as file_id, ${isIngested} as is_unsent
         from request r cross join lateral ${nextMembers(datasetNamed('r.dataset_id'), 'r.after')} page
         join sda.files f on f.id = page.file_id
         where r.kind = 'dataset'
         union all
         select f.id, f.stable_id, true from request r join sda.files f on f.stable_id = r.file_id
         where r.kind = 'file' and f.id > r.after and :sent_to = ''
       ), closed as (
         insert into data_out.request_files as f (request_id, file_id, state, reason)
         select cast(:request_id as uuid), file_id, cast(:state as text), cast(:reason as text) from page where is_unsent
         order by file_id
         on conflict (request_id, file_id) do update set
           state = excluded.state, reason = excluded.reason, is_last_try = false, updated_at = now()
         where ${isOpen('f')}
       ), saved as (
         update data_out.requests r set
           sent_to = greatest(sent_to, :sent_to), files = greatest(files, cast(:files as integer)),
           closed_to = (select p.id from page p order by p.id desc limit 1),
           closed = closed + (select count(*) from page p where p.is_unsent), updated_at = now()
         where r.${ofRequest} and exists (select from page)
       )
       select count(*) as looked_at from page`,
      { request_id: { uuid: requestId }, sent_to: sentTo, files, state, reason },
    );
    return row?.looked_at === pageSize;
  }
}

function knownRequest(row: z.infer<typeof knownRow>): KnownRequest {
  return {
    state: row.state,
    sentTo: row.sent_to,
    files: row.files,
    isSealed: row.is_sealed,
    datasetId: row.dataset_id ?? undefined,
    cameFurtherAt: row.came_further_at,
  };
}

function columnsOf(request: RefusedRequest) {
  const { datasetId = null, fileId = null } = request;
  const kind = fileId !== null ? 'file' : datasetId !== null ? 'dataset' : null;
  return {
    request_id: { uuid: request.requestId },
    requested_at: request.requestedAt.toISOString(),
    archive_kind: request.archiveKind ?? null,
    kind,
    dataset_id: datasetId,
    file_id: fileId,
    recipient: request.recipient ?? null,
    key_fingerprint: request.keyFingerprint ?? null,
  };
}

function eventOf(
  { requestedAt: _, ...facts }: RefusedRequest,
  event: ExportEvent['event'],
  reason?: string,
): ExportEvent {
  return { ...facts, event, ...(reason !== undefined && { reason }) };
}
