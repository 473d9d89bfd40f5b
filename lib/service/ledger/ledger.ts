import * as z from 'zod';
import { requestStates } from '../../contract/delivery.ts';
import { datasetNamed, isIngested, nextMembers, rowId } from '../catalogue/datasets.ts';
import { mostWithoutProgress } from '../export/finalizing.ts';
import type {
  AcceptedRequest,
  ExportEvent,
  FanOutProgress,
  FileEnd,
  GiveUpReason,
  KnownRequest,
  Receive,
  RefusedRequest,
  RequestFiles,
  Requests,
  Unsent,
} from '../export/ports.ts';
import type { BrokenFanOut, UnfinishedRequests } from '../export/reconcile.ts';
import { count, isoTime, pageSize, timeFormat } from '../stores/rds/columns.ts';
import type { DataApi, SqlExecutor } from '../stores/rds/data-api.ts';
import { auditRows, insertEvents } from './delivery-log.ts';
import { fitsQuota, lockRecipient, type OutboxQuota } from './outbox-quota.ts';
import {
  alsoFor,
  assignments,
  ends as endings,
  fileAssignments,
  isFinalizable,
  isUnfinalized,
  mayFinalize,
  newRow,
  newState,
  requestTakes,
  stateAfter,
  takesOneOf,
} from './transition-sql.ts';
import { type RequestEvent, requestTransitions, takes } from './transitions.ts';

const requestRow = z.object({ request_id: z.string() });
const knownRow = z.object({
  state: z.enum(requestStates),
  sent_to: z.string(),
  files: count,
  is_fanned_out: z.boolean(),
  came_further_at: count,
  dataset_id: z.string().nullable(),
});

const ofRequest = 'request_id = cast(:request_id as uuid)';
const excluded = (column: string) => `excluded.${column}`;

/** Records files as `pending`, also those that were given up: their messages are about to be sent. */
const addPending = `insert into data_out.request_files as f (request_id, file_id, state)
  select cast(:request_id as uuid), file_id, '${newState('sent')}'
  from jsonb_array_elements_text(cast(:file_ids as jsonb)) as ids (file_id)
  order by file_id
  on conflict (request_id, file_id) do update
    set state = ${stateAfter('f', 'sent')}, ${fileAssignments('sent', excluded)}
  where ${takes('f', 'sent')}`;

/** Adds the row of a request with its columns from the parameters of {@link columnsOf}, or changes the row that it has. */
function insertRequest(event: RequestEvent): string {
  const columns = newRow(event);
  const isChange = Object.keys(requestTransitions[event].steps).some((phase) => phase !== 'absent');
  return `insert into data_out.requests as r
      (request_id, requested_at, archive_kind, kind, dataset_id, file_id, recipient, key_fingerprint,
       ${Object.keys(columns).join(', ')})
    values (cast(:request_id as uuid), cast(:requested_at as timestamptz), :archive_kind, :kind, :dataset_id, :file_id,
      :recipient, :key_fingerprint, ${Object.values(columns).join(', ')})
    on conflict (request_id) do
      ${isChange ? `update set ${assignments(event)} where ${requestTakes(event)}` : 'nothing'}`;
}

/** Most requests of one statement. Their rows stay below the 1 MiB of a result of the Data API. */
const mostRequests = 500;

const brokenRow = requestRow.extend({
  requested_at: z.string(),
  archive_kind: z.string().nullable(),
  dataset_id: z.string().nullable(),
  file_id: z.string().nullable(),
  recipient: z.string().nullable(),
  key_fingerprint: z.string().nullable(),
  sent_to: z.string(),
  files: count,
  reason: z.string().nullable(),
});

/** When a fanned-out request changed, or was sent on again: its fan-out is over, so that `tried_at` is free for that. */
const lastSign = 'greatest(r.updated_at, r.tried_at)';

/** The life of requests and of their files, by the tables of `transitions.ts`. Every statement may be repeated after a lost answer. */
export class RdsLedger implements Requests, RequestFiles, UnfinishedRequests {
  readonly #db: SqlExecutor & Pick<DataApi, 'transaction'>;
  readonly #mostInFlight: number;
  readonly #quota: OutboxQuota | undefined;

  /**
   * @param mostInFlight most files that all invocations together stage at once
   * @param quota of the outbox. Without it `accept` takes every request, by one statement
   */
  constructor(db: SqlExecutor & Pick<DataApi, 'transaction'>, mostInFlight: number, quota?: OutboxQuota) {
    this.#db = db;
    this.#mostInFlight = mostInFlight;
    this.#quota = quota;
  }

  async begin(exportId: string, receive: Receive): Promise<KnownRequest | undefined> {
    const [row] = await this.#db.query(
      knownRow,
      `with tried as (
         update data_out.requests r set ${assignments('begun')} where ${ofRequest} and ${requestTakes('begun')}
       )
       select state, sent_to, files, sealed_at is not null as is_fanned_out, dataset_id,
         ${requestTransitions.begun.set?.came_further_at} as came_further_at
       from data_out.requests r where ${ofRequest}`,
      { request_id: { uuid: exportId }, receive: receive.count, is_last_try: receive.isLast },
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
         ${insertRequest('accepted')}
       ), audited as (
         ${insertEvents}
       )
       ${addPending}`,
      {
        ...columnsOf(request),
        is_last_try: receive.isLast || receive.count >= mostWithoutProgress,
        receive: receive.count,
        file_ids: { json: fileIds },
        events: auditRows([eventOf(request, 'accepted')]),
      },
    );
  }

  async addFiles(
    exportId: string,
    { sentTo, files }: FanOutProgress,
    fileIds: readonly string[],
    receive: Receive,
  ): Promise<void> {
    await this.#db.execute(
      `with saved as (
         update data_out.requests r set ${assignments('page_sent')} where ${ofRequest} and ${requestTakes('page_sent')}
       )
       ${addPending}`,
      {
        request_id: { uuid: exportId },
        ...{ sent_to: sentTo, files, receive: receive.count, is_last_try: receive.isLast },
        file_ids: { json: fileIds },
      },
    );
  }

  async completeFanOut(exportId: string, { sentTo, files }: FanOutProgress): Promise<boolean> {
    const [row] = await this.#db.query(
      z.object({ may_finalize: z.boolean() }),
      `with completed as (
         update data_out.requests r set ${assignments('fan_out_complete')}
         where ${ofRequest} and ${requestTakes('fan_out_complete')}
       )
       select ${mayFinalize('r.request_id', this.#mostInFlight)} as may_finalize
       from data_out.requests r where ${ofRequest}`,
      { request_id: { uuid: exportId }, sent_to: sentTo, files },
    );
    return row?.may_finalize ?? false;
  }

  reject(request: RefusedRequest, reason: string): Promise<void> {
    return this.#refuse(request, 'refused', reason);
  }

  fail(request: RefusedRequest, reason: string): Promise<void> {
    return this.#refuse(request, 'fan_out_failed', reason);
  }

  /** A request that was not accepted before gets no receipt: nothing remains to be done. */
  async #refuse(request: RefusedRequest, event: 'refused' | 'fan_out_failed', reason: string): Promise<void> {
    const events = auditRows([eventOf(request, event === 'refused' ? 'rejected' : 'failed', reason)]);
    await this.#db.execute(`with refused as (${insertRequest(event)}) ${insertEvents}`, {
      ...columnsOf(request),
      ...{ reason, events },
    });
  }

  async closeUnsent(exportId: string, { sentTo, files }: FanOutProgress, { state, reason }: Unsent): Promise<boolean> {
    const [row] = await this.#db.query(
      z.object({ looked_at: count }),
      `with request as materialized (
         select r.kind, r.dataset_id, r.file_id, greatest(r.closed_to, ${rowId(':sent_to')}) as after
         from data_out.requests r where r.${ofRequest} and ${requestTakes('page_closed')}
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
         on conflict (request_id, file_id) do update
           set state = excluded.state, ${fileAssignments('given_up_unsent', excluded)}
         where ${takesOneOf(['refused_unsent', 'given_up_unsent'], 'f', 'excluded')}
       ), saved as (
         update data_out.requests r set ${assignments('page_closed')}
         where r.${ofRequest} and exists (select from page)
       )
       select count(*) as looked_at from page`,
      { request_id: { uuid: exportId }, sent_to: sentTo, files, state, reason },
    );
    return row?.looked_at === pageSize;
  }

  async record(ends: readonly FileEnd[], events: readonly ExportEvent[]): Promise<readonly string[]> {
    const others = `not exists (
      select from ends e where e.request_id = o.request_id and e.file_id = o.file_id)`;
    const rows = await this.#db.query(
      requestRow,
      `with ends as materialized (
         select * from jsonb_to_recordset(cast(:ends as jsonb)) as e
           (request_id uuid, file_id text, state text, reason text, superseded_by uuid, outbox_key text, bytes bigint,
            crc64nvme text, header_sha256 text)
       ), before as materialized (
         select f.request_id, f.file_id, f.state from data_out.request_files f
         join ends e on e.request_id = f.request_id and e.file_id = f.file_id
         order by f.request_id, f.file_id for update of f
       ), ended as (
         update data_out.request_files f set
           state = e.state, ${fileAssignments('staged', (column) => `e.${column}`)}
         from before b join ends e on e.request_id = b.request_id and e.file_id = b.file_id
         where f.request_id = b.request_id and f.file_id = b.file_id
           and ${takesOneOf(endings, 'b', 'e')}
         returning f.request_id
       ), raised as (
         ${alsoFor('select d.request_id from ended d', 'file_changed')}
       ), audited as (
         ${insertEvents}
       )
       select cast(r.request_id as text) as request_id from data_out.requests r
       where r.request_id in (select e.request_id from ends e where e.state <> 'retrying')
         and ${mayFinalize('r.request_id', this.#mostInFlight, others)}`,
      { ends: { json: ends.map(endColumns) }, events: auditRows(events) },
    );
    return rows.map((row) => row.request_id);
  }

  async finalizable(exportIds: readonly string[]): Promise<readonly string[]> {
    const rows = await this.#db.query(
      requestRow,
      `select cast(r.request_id as text) as request_id from data_out.requests r
       where r.request_id in (select cast(id as uuid) from jsonb_array_elements_text(cast(:ids as jsonb)) as ids (id))
         and ${isFinalizable}`,
      { ids: { json: exportIds } },
    );
    return rows.map((row) => row.request_id);
  }

  giveUpSilent(triedBefore: Date): Promise<number> {
    return this.#giveUp(
      'no_answer',
      `select f.request_id, f.file_id from data_out.request_files f
       where ${takes('f', 'lost')} and f.is_last_try and f.tried_at < cast(:before as timestamptz)
       limit ${pageSize} for update of f skip locked`,
      triedBefore,
    );
  }

  giveUpExpired(before: Date): Promise<number> {
    return this.#giveUp(
      'expired',
      `select f.request_id, f.file_id
       from data_out.requests r join data_out.request_files f on f.request_id = r.request_id
       where ${isUnfinalized} and r.updated_at < cast(:before as timestamptz)
         and ${takes('f', 'lost')} and f.updated_at < cast(:before as timestamptz)
       limit ${pageSize} for update of f skip locked`,
      before,
    );
  }

  /** @param lost query of the files */
  async #giveUp(reason: GiveUpReason, lost: string, before: Date): Promise<number> {
    const [row] = await this.#db.query(
      z.object({ files: count }),
      `with lost as materialized (
         ${lost}
       ), given_up as (
         update data_out.request_files f set state = ${stateAfter('f', 'lost')}, ${fileAssignments('lost', () => ':reason')}
         from lost l where f.request_id = l.request_id and f.file_id = l.file_id
         returning f.request_id, f.file_id
       ), audited as (
         insert into data_out.export_log
           (request_id, event, reason, archive_kind, dataset_id, file_id, recipient, key_fingerprint)
         select g.request_id, 'given_up', cast(:reason as text), r.archive_kind, r.dataset_id, g.file_id, r.recipient,
           r.key_fingerprint
         from given_up g join data_out.requests r on r.request_id = g.request_id
         order by g.request_id, g.file_id
         on conflict (request_id, event, (coalesce(file_id, ''))) do nothing
       )
       select count(*) as files from given_up`,
      { reason, before: before.toISOString() },
    );
    return row?.files ?? 0;
  }

  async brokenFanOuts(triedBefore: Date, expiredBefore: Date): Promise<readonly BrokenFanOut[]> {
    const rows = await this.#db.query(
      brokenRow,
      `select cast(r.request_id as text) as request_id,
         ${isoTime('r.requested_at')} as requested_at,
         r.archive_kind, r.dataset_id, r.file_id, r.recipient, r.key_fingerprint, r.sent_to, r.files, r.reason
       from data_out.requests r
       where ${isUnfinalized} and r.sealed_at is null and (
         r.state = 'failed' or r.is_last_try and r.tried_at < cast(:tried_before as timestamptz)
         or r.updated_at < cast(:expired_before as timestamptz))
       order by r.updated_at
       limit ${mostRequests}`,
      {
        ...timeFormat,
        tried_before: triedBefore.toISOString(),
        expired_before: expiredBefore.toISOString(),
      },
    );
    return rows.map((row) => ({
      request: {
        exportId: row.request_id,
        requestedAt: new Date(row.requested_at),
        ...(row.archive_kind !== null && { archiveKind: row.archive_kind }),
        ...(row.dataset_id !== null && { datasetId: row.dataset_id }),
        ...(row.file_id !== null && { fileId: row.file_id }),
        ...(row.recipient !== null && { recipient: row.recipient }),
        ...(row.key_fingerprint !== null && { keyFingerprint: row.key_fingerprint }),
      },
      progress: { sentTo: row.sent_to, files: row.files },
      ...(row.reason !== null && { reason: row.reason }),
    }));
  }

  /** Whether a request waits for its receipt. One whose recipient was erased never gets one. */
  async hasUnfinalized(): Promise<boolean> {
    const [row] = await this.#db.query(
      z.object({ found: z.boolean() }),
      `select exists (
         select from data_out.requests r where ${isUnfinalized} and r.recipient is not null) as found`,
    );
    return row?.found ?? false;
  }

  async unclosed(quietSince: Date): Promise<readonly string[]> {
    const rows = await this.#db.query(
      requestRow,
      `with unclosed as materialized (
         select r.request_id from data_out.requests r
         where ${isFinalizable} and r.recipient is not null and ${lastSign} < cast(:quiet_since as timestamptz)
           and now() - ${lastSign} >= ${lastSign} - r.updated_at
         order by r.updated_at
         limit ${mostRequests}
       )
       update data_out.requests r set tried_at = now()
       from unclosed u where r.request_id = u.request_id
       returning cast(r.request_id as text) as request_id`,
      { quiet_since: quietSince.toISOString() },
    );
    return rows.map((row) => row.request_id);
  }
}

function knownRequest(row: z.infer<typeof knownRow>): KnownRequest {
  return {
    state: row.state,
    sentTo: row.sent_to,
    files: row.files,
    isFannedOut: row.is_fanned_out,
    datasetId: row.dataset_id ?? undefined,
    cameFurtherAt: row.came_further_at,
  };
}

function columnsOf(request: RefusedRequest) {
  const { datasetId = null, fileId = null } = request;
  const kind = fileId !== null ? 'file' : datasetId !== null ? 'dataset' : null;
  return {
    request_id: { uuid: request.exportId },
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

function endColumns(end: FileEnd) {
  return {
    request_id: end.exportId,
    file_id: end.fileId,
    state: end.state,
    reason: end.reason,
    superseded_by: end.supersededBy,
    outbox_key: end.outboxKey,
    bytes: end.bytes,
    crc64nvme: end.crc64nvme,
    header_sha256: end.headerSha256,
  };
}
