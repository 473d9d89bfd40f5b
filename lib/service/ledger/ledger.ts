import * as z from 'zod';
import { requestStates } from '../../contract/delivery.ts';
import { datasetNamed, isIngested, nextMembers, rowId } from '../catalogue/datasets.ts';
import { mostWithoutProgress } from '../export/finalizing.ts';
import type {
  ExportEvent,
  FanOuts,
  FileRecords,
  GiveUpReason,
  OutboxRecords,
  ReceiptRecords,
  RefusedRequest,
  UnfinishedRequests,
} from '../export/ledger-port.ts';
import type { Attempt } from '../export/ports.ts';
import { camelRow, count, isoTime, optional, pageSize, snakeCase, timeFormat } from '../stores/rds/columns.ts';
import type { DataApi, SqlExecutor } from '../stores/rds/data-api.ts';
import {
  deprecatedDatasets,
  fitsQuota,
  lockRecipient,
  type OutboxQuota,
  recordedContainers,
} from './outbox-contents.ts';
import { filesForReceipt } from './receipt-files.ts';
import {
  assignments,
  change,
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
import { fileTransitions, hasOpenFiles, quoted, type RequestEvent, requestTransitions, takes } from './transitions.ts';

// Every statement that changes requests and their files, in the order of a request's life. `transitions.ts` says when each of
// them changes a row, and which columns.

const ofRequest = 'r.request_id = cast(:request_id as uuid)';
const idRow = z.object({ request_id: z.string() });
const requestIds = (rows: readonly z.infer<typeof idRow>[]) => rows.map((row) => row.request_id);

/**
 * Adds the rows of the parameter `events` to the audit trail. In order, so that two statements with the same rows cannot wait
 * for each other.
 */
const insertEvents = `insert into data_out.export_log
     (request_id, event, reason, archive_kind, dataset_id, file_id, recipient, key_fingerprint, bytes, checksum)
   select request_id, event, reason, archive_kind, dataset_id, file_id, recipient, key_fingerprint, bytes, checksum
   from jsonb_to_recordset(cast(:events as jsonb)) as e
     (request_id uuid, event text, reason text, archive_kind text, dataset_id text, file_id text, recipient text,
      key_fingerprint text, bytes bigint, checksum text)
   order by request_id, event, file_id
   on conflict (request_id, event, (coalesce(file_id, ''))) do nothing`;
const eventRows = (events: readonly ExportEvent[]) => ({ json: events.map((event) => snakeCase({ ...event })) });

/** Adds the row of a request with its columns from the parameters of {@link factsOf}, or changes the row that it has. */
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

function factsOf(request: RefusedRequest) {
  const { datasetId = null, fileId = null, archiveKind = null, recipient = null, keyFingerprint = null } = request;
  const kind = fileId !== null ? 'file' : datasetId !== null ? 'dataset' : null;
  return {
    ...{ request_id: { uuid: request.requestId }, requested_at: request.requestedAt.toISOString() },
    ...{ archive_kind: archiveKind, kind, dataset_id: datasetId, file_id: fileId },
    ...{ recipient, key_fingerprint: keyFingerprint },
  };
}

/** Records files as `pending`, also those that were given up: their messages are about to be sent. */
const addPending = `insert into data_out.request_files as f (request_id, file_id, state)
  select cast(:request_id as uuid), file_id, '${newState('sent')}'
  from jsonb_array_elements_text(cast(:file_ids as jsonb)) as ids (file_id)
  order by file_id
  on conflict (request_id, file_id) do update set state = ${stateAfter('f', 'sent')}, ${fileAssignments('sent')}
  where ${takes('f', 'sent')}`;

const knownRow = camelRow({
  state: z.enum(requestStates),
  sent_to: z.string(),
  files: count,
  is_fanned_out: z.boolean(),
  came_further_at: count,
  dataset_id: optional(z.string()),
});

const finalizable =
  (db: SqlExecutor): FanOuts['finalizable'] =>
  async (ids) =>
    requestIds(
      await db.query(
        idRow,
        `select cast(r.request_id as text) as request_id from data_out.requests r
         where r.request_id in (select cast(id as uuid) from jsonb_array_elements_text(cast(:ids as jsonb)) as ids (id))
           and ${isFinalizable}`,
        { ids: { json: ids } },
      ),
    );

/**
 * @param mostInFlight most files that all invocations together stage at once
 * @param quota of the outbox. Without it `accept` takes every request, by one statement
 */
export function fanOuts(
  db: SqlExecutor & Pick<DataApi, 'transaction'>,
  mostInFlight: number,
  quota?: OutboxQuota,
): FanOuts {
  /** A request that was not accepted before gets no receipt: nothing remains to be done. */
  const refuse = async (
    { requestedAt, ...facts }: RefusedRequest,
    [happened, event]: ['refused', 'rejected'] | ['fan_out_failed', 'failed'],
    reason: string,
  ) => {
    const events = eventRows([{ ...facts, event, reason }]);
    const parameters = { ...factsOf({ requestedAt, ...facts }), reason, events };
    await db.execute(`with refused as (${insertRequest(happened)}) ${insertEvents}`, parameters);
  };
  return {
    finalizable: finalizable(db),

    async begin(requestId, receive) {
      const [row] = await db.query(
        knownRow,
        `with tried as (${change('begun', ofRequest)})
         select r.state, r.sent_to, r.files, r.sealed_at is not null as is_fanned_out, r.dataset_id,
           ${requestTransitions.begun.set?.came_further_at} as came_further_at
         from data_out.requests r where ${ofRequest}`,
        { request_id: { uuid: requestId }, receive: receive.count, is_last_try: receive.isLast },
      );
      return row;
    },

    async accept(request, fileIds, receive) {
      const { requestedAt: _, ...facts } = request;
      const accept = (to: SqlExecutor) =>
        to.execute(`with accepted as (${insertRequest('accepted')}), audited as (${insertEvents}) ${addPending}`, {
          ...factsOf(request),
          is_last_try: receive.isLast || receive.count >= mostWithoutProgress,
          receive: receive.count,
          file_ids: { json: fileIds },
          events: eventRows([{ ...facts, event: 'accepted' }]),
        });
      if (quota) {
        return await db.transaction(async (transaction) => {
          await lockRecipient(transaction, request.recipient);
          const fits = await fitsQuota(transaction, request, quota);
          if (fits) await accept(transaction);
          return fits;
        });
      }
      await accept(db);
      return true;
    },

    async addFiles(requestId, { sentTo, files }, fileIds, receive) {
      await db.execute(`with saved as (${change('page_sent', ofRequest)}) ${addPending}`, {
        ...{ request_id: { uuid: requestId }, sent_to: sentTo, files, file_ids: { json: fileIds } },
        ...{ receive: receive.count, is_last_try: receive.isLast },
      });
    },

    async completeFanOut(requestId, { sentTo, files }) {
      const [row] = await db.query(
        z.object({ may_finalize: z.boolean() }),
        `with completed as (${change('fan_out_complete', ofRequest)})
         select ${mayFinalize(mostInFlight)} as may_finalize from data_out.requests r where ${ofRequest}`,
        { request_id: { uuid: requestId }, sent_to: sentTo, files },
      );
      return row?.may_finalize ?? false;
    },

    reject: (request, reason) => refuse(request, ['refused', 'rejected'], reason),
    fail: (request, reason) => refuse(request, ['fan_out_failed', 'failed'], reason),

    async closeUnsent(requestId, { sentTo, files }, { state, reason }) {
      const [row] = await db.query(
        z.object({ looked_at: count }),
        `with request as materialized (
           select r.kind, r.dataset_id, r.file_id, greatest(r.closed_to, ${rowId(':sent_to')}) as after
           from data_out.requests r where ${ofRequest} and ${requestTakes('page_closed')}
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
             set state = excluded.state, ${fileAssignments('given_up_unsent')}
           where ${takesOneOf(['refused_unsent', 'given_up_unsent'], 'f', 'excluded')}
         ), saved as (${change('page_closed', `${ofRequest} and exists (select from page)`)})
         select count(*) as looked_at from page`,
        { request_id: { uuid: requestId }, sent_to: sentTo, files, state, reason },
      );
      return row?.looked_at === pageSize;
    },
  };
}

const reopened = fileTransitions.attempted_first.alsoFrom ?? [];

/**
 * For the query of the catalogue that finds the files of attempts: common table expressions that note the parameter `attempts`. A
 * file that was given up is open again when its message comes for the first time: it was moved back from the dead letters. Rows
 * are locked in order, so that two statements with the same rows cannot wait for each other.
 */
export const noteAttempts = {
  sql: `attempts as materialized (
    select * from jsonb_to_recordset(cast(:attempts as jsonb)) as a
      (request_id uuid, file_id text, is_first boolean, is_last_try boolean)
  ), before as materialized (
    select f.request_id, f.file_id, f.state from data_out.request_files f
    join attempts a on a.request_id = f.request_id and a.file_id = f.file_id
    order by f.request_id, f.file_id for update of f
  ), tried as (
    update data_out.request_files f set state = ${stateAfter('b', 'attempted_first')}, ${fileAssignments('attempted_first', 'a')}
    from before b join attempts a on a.request_id = b.request_id and a.file_id = b.file_id
    where f.request_id = b.request_id and f.file_id = b.file_id
      and (${takes('b', 'attempted')} or a.is_first and ${takes('b', 'attempted_first')})
    returning f.request_id, b.state as was
  ), raised as (
    ${change('file_changed', `r.request_id in (select t.request_id from tried t where t.was in (${reopened.map(quoted).join(', ')}))`)}
  )`,
  rows: (attempts: readonly Attempt[]) => ({
    json: attempts.map(({ requestId, fileId, isFirst, isLast }) =>
      snakeCase({ requestId, fileId, isFirst, isLastTry: isLast }),
    ),
  }),
};

/** @param mostInFlight as of {@link fanOuts} */
export function fileRecords(db: SqlExecutor, mostInFlight: number): FileRecords {
  return {
    finalizable: finalizable(db),

    async record(ends, events) {
      const others = `not exists (
        select from ends e where e.request_id = o.request_id and e.file_id = o.file_id)`;
      const rows = await db.query(
        idRow,
        `with ends as materialized (
           select * from jsonb_to_recordset(cast(:ends as jsonb)) as e
             (request_id uuid, file_id text, state text, reason text, superseded_by uuid, outbox_key text, bytes bigint,
              crc64nvme text, header_sha256 text)
         ), before as materialized (
           select f.request_id, f.file_id, f.state from data_out.request_files f
           join ends e on e.request_id = f.request_id and e.file_id = f.file_id
           order by f.request_id, f.file_id for update of f
         ), ended as (
           update data_out.request_files f set state = e.state, ${fileAssignments('staged', 'e')}
           from before b join ends e on e.request_id = b.request_id and e.file_id = b.file_id
           where f.request_id = b.request_id and f.file_id = b.file_id and ${takesOneOf(endings, 'b', 'e')}
           returning f.request_id
         ), raised as (
           ${change('file_changed', 'r.request_id in (select d.request_id from ended d)')}
         ), audited as (${insertEvents})
         select cast(r.request_id as text) as request_id from data_out.requests r
         where r.request_id in (select e.request_id from ends e where e.state <> 'retrying')
           and ${mayFinalize(mostInFlight, others)}`,
        { ends: { json: ends.map((end) => snakeCase({ ...end })) }, events: eventRows(events) },
      );
      return requestIds(rows);
    },
  };
}

const fannedOutRow = camelRow({
  request_id: z.string(),
  requested_at: z.string(),
  kind: z.enum(['dataset', 'file']),
  dataset_id: z.string(),
  file_id: optional(z.string()),
  recipient: z.string(),
  key_fingerprint: z.string(),
  state: z.enum(requestStates),
  receipt_revision: z.number(),
  finalized_revision: z.number(),
  is_open: z.boolean(),
});

export function receiptRecords(db: SqlExecutor): ReceiptRecords {
  return {
    async find(requestId) {
      const [row] = await db.query(
        fannedOutRow,
        `select cast(r.request_id as text) as request_id, ${isoTime('r.requested_at')} as requested_at,
           r.kind, r.dataset_id, case r.kind when 'file' then r.file_id end as file_id, r.recipient, r.key_fingerprint,
           r.state, r.generation as receipt_revision, r.settled_generation as finalized_revision,
           ${hasOpenFiles('r.request_id')} as is_open
         from data_out.requests r
         where ${ofRequest} and r.state <> 'rejected' and r.sealed_at is not null and r.recipient is not null
           and exists (select from data_out.request_files f where f.request_id = r.request_id)`,
        { request_id: { uuid: requestId }, ...timeFormat },
      );
      return row;
    },

    files: (requestId) => filesForReceipt(db, requestId),

    async finalize({ requestId, receiptRevision }, { state, staged, stagedBytes }) {
      const rows = await db.query(
        z.object({ finalized: z.boolean() }),
        `with finalized as (
           ${change('finalized', ofRequest)}
           returning r.request_id, r.state, r.archive_kind, r.dataset_id, r.file_id, r.recipient, r.key_fingerprint,
             r.staged_bytes),
         logged as (
           insert into data_out.export_log
             (request_id, event, reason, archive_kind, dataset_id, file_id, recipient, key_fingerprint, bytes)
           select request_id, 'settled', state, archive_kind, dataset_id, file_id, recipient, key_fingerprint, staged_bytes
           from finalized
           on conflict (request_id, event, (coalesce(file_id, ''))) do nothing)
         select true as finalized from finalized`,
        { request_id: { uuid: requestId }, generation: receiptRevision, state, staged, staged_bytes: stagedBytes },
      );
      return rows.length > 0;
    },

    async close({ requestId, receiptRevision }, hasReceipt) {
      const parameters = { request_id: { uuid: requestId }, generation: receiptRevision, has_receipt: hasReceipt };
      await db.execute(change('closed', ofRequest), parameters);
    },
  };
}

/** Most requests of one statement. Their rows stay below the 1 MiB of a result of the Data API. */
const mostRequests = 500;

const brokenRow = camelRow({
  request_id: z.string(),
  requested_at: z.string(),
  archive_kind: optional(z.string()),
  dataset_id: optional(z.string()),
  file_id: optional(z.string()),
  recipient: optional(z.string()),
  key_fingerprint: optional(z.string()),
  sent_to: z.string(),
  files: count,
  reason: optional(z.string()),
});

/** When a fanned-out request changed, or was sent on again: its fan-out is over, so that `tried_at` is free for that. */
const lastSign = 'greatest(r.updated_at, r.tried_at)';

export function unfinishedRequests(db: SqlExecutor): UnfinishedRequests {
  /** @param lost query of the files */
  const giveUp = async (reason: GiveUpReason, lost: string, before: Date) => {
    const [row] = await db.query(
      z.object({ files: count }),
      `with lost as materialized (${lost}
         limit ${pageSize} for update of f skip locked
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
  };
  return {
    giveUpSilent: (triedBefore) =>
      giveUp(
        'no_answer',
        `select f.request_id, f.file_id from data_out.request_files f
         where ${takes('f', 'lost')} and f.is_last_try and f.tried_at < cast(:before as timestamptz)`,
        triedBefore,
      ),

    giveUpExpired: (before) =>
      giveUp(
        'expired',
        `select f.request_id, f.file_id
         from data_out.requests r join data_out.request_files f on f.request_id = r.request_id
         where ${isUnfinalized} and r.updated_at < cast(:before as timestamptz)
           and ${takes('f', 'lost')} and f.updated_at < cast(:before as timestamptz)`,
        before,
      ),

    async brokenFanOuts(triedBefore, expiredBefore) {
      const rows = await db.query(
        brokenRow,
        `select cast(r.request_id as text) as request_id, ${isoTime('r.requested_at')} as requested_at,
           r.archive_kind, r.dataset_id, r.file_id, r.recipient, r.key_fingerprint, r.sent_to, r.files, r.reason
         from data_out.requests r
         where ${isUnfinalized} and r.sealed_at is null and (
           r.state = 'failed' or r.is_last_try and r.tried_at < cast(:tried_before as timestamptz)
           or r.updated_at < cast(:expired_before as timestamptz))
         order by r.updated_at
         limit ${mostRequests}`,
        { ...timeFormat, tried_before: triedBefore.toISOString(), expired_before: expiredBefore.toISOString() },
      );
      return rows.map(({ requestedAt, sentTo, files, reason, ...facts }) => ({
        request: { requestedAt: new Date(requestedAt), ...facts },
        progress: { sentTo, files },
        reason,
      }));
    },

    async unclosed(quietSince) {
      const rows = await db.query(
        idRow,
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
      return requestIds(rows);
    },

    async hasUnfinalized() {
      const [row] = await db.query(
        z.object({ found: z.boolean() }),
        `select exists (
           select from data_out.requests r where ${isUnfinalized} and r.recipient is not null) as found`,
      );
      return row?.found ?? false;
    },
  };
}

/** @param expiryDays days after which the lifecycle rule of the bucket may remove a container */
export function outboxRecords(db: SqlExecutor, expiryDays: number): OutboxRecords {
  const removed = quoted(newState('removed'));
  return {
    deprecatedDatasets: () => deprecatedDatasets(db),
    containers: (filter, options) => recordedContainers(db, expiryDays, filter, options),

    async recordRemoval(containers, events) {
      // A repeated statement finds the rows ended, and raises no revision again.
      await db.execute(
        `with given as materialized (
           select * from jsonb_to_recordset(cast(:containers as jsonb)) as g
             (request_id uuid, file_id text, outbox_key text, state text, superseded_by uuid)
         ), own as (
           insert into data_out.request_files as f (request_id, file_id, state, superseded_by, outbox_key)
           select request_id, file_id, state, superseded_by, outbox_key from given order by request_id, file_id
           on conflict (request_id, file_id) do update set state = excluded.state, ${fileAssignments('removed')}
           where ${takesOneOf(['removed', 'replaced'], 'f', 'excluded')}
           returning f.request_id, f.state
         ), others as (
           update data_out.request_files f
           set state = ${stateAfter('f', 'key_removed')}, ${fileAssignments('key_removed')}
           where ${takes('f', 'key_removed')} and f.outbox_key in (select outbox_key from given where state = ${removed})
             and (f.request_id, f.file_id) not in (select request_id, file_id from given)
           returning f.request_id
         ), raised as (${change(
           'container_removed',
           `r.request_id in (select request_id from own where state = ${removed} union select request_id from others)`,
         )})
         ${insertEvents}`,
        {
          containers: {
            json: containers.map(({ requestId, fileId, key, end, by }) => {
              const state = newState(end === 'withdrawn' ? 'removed' : 'replaced');
              return snakeCase({ requestId, fileId, outboxKey: key, state, supersededBy: by });
            }),
          },
          events: eventRows(events),
        },
      );
    },
  };
}
