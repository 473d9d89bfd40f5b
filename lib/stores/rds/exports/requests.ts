import * as z from 'zod';
import { requestStates } from '../../../contract/delivery.ts';
import type { ExportEvent } from '../../../export/ports.ts';
import type {
  AcceptedRequest,
  FanOutProgress,
  KnownRequest,
  RefusedRequest,
  Requests,
  Unsent,
} from '../../../export/settling.ts';
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

  async begin(requestId: string, isLastTry: boolean): Promise<KnownRequest | undefined> {
    const [row] = await this.#db.query(
      knownRow,
      `with tried as (
         update data_out.requests set tried_at = now(), is_last_try = :is_last_try
         where ${ofRequest} and sealed_at is null
       )
       select state, sent_to, files, sealed_at is not null as is_sealed, dataset_id
       from data_out.requests where ${ofRequest}`,
      { request_id: { uuid: requestId }, is_last_try: isLastTry },
    );
    return row && knownRequest(row);
  }

  async accept(request: AcceptedRequest, fileIds: readonly string[], isLastTry: boolean): Promise<boolean> {
    const quota = this.#quota;
    if (!quota) {
      await this.#accept(this.#db, request, fileIds, isLastTry);
      return true;
    }
    return await this.#db.transaction(async (transaction) => {
      await lockRecipient(transaction, request.recipient);
      const fits = await fitsQuota(transaction, request, quota);
      if (fits) await this.#accept(transaction, request, fileIds, isLastTry);
      return fits;
    });
  }

  async #accept(
    db: SqlExecutor,
    request: AcceptedRequest,
    fileIds: readonly string[],
    isLastTry: boolean,
  ): Promise<void> {
    await db.execute(
      `with accepted as (
         ${insertRequest('state, tried_at, is_last_try', "'accepted', now(), :is_last_try")}
         on conflict (request_id) do update set
           state = 'accepted', reason = null, archive_kind = excluded.archive_kind, kind = excluded.kind,
           dataset_id = excluded.dataset_id, file_id = excluded.file_id, recipient = excluded.recipient,
           key_fingerprint = excluded.key_fingerprint, sealed_at = null, tried_at = now(),
           is_last_try = excluded.is_last_try, updated_at = now(),
           generation = case when r.sealed_at is null then r.generation else r.generation + 1 end
         where r.state in ('rejected', 'failed')
       ), audited as (
         ${insertEvents}
       )
       ${addPending}`,
      {
        ...columnsOf(request),
        is_last_try: isLastTry,
        file_ids: { json: fileIds },
        events: auditRows([eventOf(request, 'accepted')]),
      },
    );
  }

  async addFiles(requestId: string, { sentTo, files }: FanOutProgress, fileIds: readonly string[]): Promise<void> {
    await this.#db.execute(
      `with saved as (
         update data_out.requests set sent_to = :sent_to, files = :files, updated_at = now()
         where ${ofRequest} and sent_to < :sent_to
       )
       ${addPending}`,
      { request_id: { uuid: requestId }, sent_to: sentTo, files, file_ids: { json: fileIds } },
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

  async closeUnsent(requestId: string, after: string, { state, reason }: Unsent): Promise<string | undefined> {
    const [row] = await this.#db.query(
      z.object({ last: z.string().nullable() }),
      `with request as (
         select r.kind, r.dataset_id, r.file_id from data_out.requests r where r.${ofRequest}
       ), unsent as materialized (
         select f.stable_id as file_id
         from request r
         join sda.datasets d on d.stable_id = r.dataset_id
         join sda.file_dataset fd on fd.dataset_id = d.id
         join sda.files f on f.id = fd.file_id
         where f.stable_id > :after and (case r.kind when 'file' then f.stable_id = r.file_id
           else f.header <> '' and f.archive_file_path <> '' end)
         order by f.stable_id
         limit ${pageSize}
       ), closed as (
         insert into data_out.request_files as f (request_id, file_id, state, reason)
         select cast(:request_id as uuid), file_id, cast(:state as text), cast(:reason as text) from unsent
         order by file_id
         on conflict (request_id, file_id) do update set
           state = excluded.state, reason = excluded.reason, is_last_try = false, updated_at = now()
         where ${isOpen('f')}
       )
       select max(file_id) as last from unsent`,
      { request_id: { uuid: requestId }, after, state, reason },
    );
    return row?.last ?? undefined;
  }
}

function knownRequest(row: z.infer<typeof knownRow>): KnownRequest {
  return {
    state: row.state,
    sentTo: row.sent_to,
    files: row.files,
    isSealed: row.is_sealed,
    datasetId: row.dataset_id ?? undefined,
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
