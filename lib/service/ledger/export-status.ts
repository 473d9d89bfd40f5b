import * as z from 'zod';
import { type FileState, fileStates } from '../../contract/delivery.ts';
import { exportStates } from '../../contract/export-state.ts';
import { limits } from '../../contract/limits.ts';
import type { ExportRecords } from '../export/ledger-port.ts';
import { receiptName } from '../export/receipt/payload.ts';
import { camelRow, count, isoTime, timeFormat } from '../stores/rds/columns.ts';
import type { SqlExecutor } from '../stores/rds/data-api.ts';
import { hasOpenFiles, isOpen, quoted } from './transitions.ts';

/** Most files that one page of the list counts. */
const mostCounted = 100_000;

const text = z.string().nullable();
const requestShape = {
  request_id: z.string(),
  state: z.enum(exportStates),
  reason: text,
  kind: z.enum(['dataset', 'file']).nullable(),
  dataset: text,
  file: text,
  recipient: text,
  key_fingerprint: text,
  requested_at: z.string(),
  sealed_at: text,
  settled_at: text,
  generation: count,
  receipt_generation: count,
};
const requestColumns = `cast(r.request_id as text) as request_id, r.reason, r.kind, r.dataset_id as dataset, r.file_id as file,
  r.recipient, r.key_fingerprint, r.generation, r.receipt_generation, ${isoTime('r.requested_at')} as requested_at,
  ${isoTime('r.sealed_at')} as sealed_at, ${isoTime('r.settled_at')} as settled_at`;

const shownRow = camelRow({
  ...requestShape,
  counts: z.string().transform((json): Readonly<Record<FileState | 'total', number>> => JSON.parse(json)),
  bytes: count,
});
const listedRow = camelRow({
  ...requestShape,
  total: count,
  staged: count.nullable(),
  pending: count.nullable(),
  retrying: count.nullable(),
  bytes: count.nullable(),
});
const fileRow = camelRow({
  file_id: z.string(),
  state: z.enum(fileStates),
  reason: text,
  superseded_by: text,
  bytes: count.nullable(),
  changed_at: z.string(),
});

/**
 * A request is staging again until it is finalized again, after a replay as after a withdrawal.
 * Each probe ends at the first row: open files have an index, and the first files of a request end first.
 */
const shownState = `case
    when r.state = 'rejected' then r.state
    when r.state <> 'accepted' and r.settled_generation in (0, r.generation) and not ${hasOpenFiles('r.request_id')}
      then r.state
    when r.state = 'accepted' and not exists (
      select from data_out.request_files f where f.request_id = r.request_id and not ${isOpen('f')})
      then 'accepted'
    else 'staging'
  end`;

/** Whether the list counts the files of a request: until it is finalized, it has no sum. Of a table `r` with `shown_state`. */
const isCounted = "(r.shown_state in ('accepted', 'staging') or r.shown_state = 'failed' and r.staged is null)";

const inState = (state: FileState) => `count(*) filter (where f.state = ${quoted(state)})`;
const stagedBytes = "cast(coalesce(sum(f.bytes) filter (where f.state = 'staged'), 0) as bigint)";

/** What happened to export requests, in `data_out.requests` and `data_out.request_files`. Reads only. */
export function exportRecords(db: SqlExecutor): ExportRecords {
  return {
    async find(archiveKind, requestId) {
      const [row] = await db.query(
        shownRow,
        `select ${requestColumns}, ${shownState} as state, c.*
         from data_out.requests r
         cross join lateral (
           select cast(json_build_object('total', count(*),
               ${fileStates.map((state) => `${quoted(state)}, ${inState(state)}`).join(', ')}) as text) as counts,
             ${stagedBytes} as bytes
           from data_out.request_files f where f.request_id = r.request_id) c
         where r.request_id = cast(:request_id as uuid) and r.archive_kind = :kind`,
        { request_id: { uuid: requestId }, kind: archiveKind, ...timeFormat },
      );
      return row && withReceipt(row);
    },

    files: (requestId, page) =>
      db.query(
        fileRow,
        `select f.file_id, f.state, f.reason, cast(f.superseded_by as text) as superseded_by, f.bytes,
           ${isoTime('f.updated_at')} as changed_at
         from data_out.request_files f where f.request_id = cast(:request_id as uuid)
         order by f.file_id limit ${limits.exportedFilesPerPage} offset ${page * limits.exportedFilesPerPage}`,
        { request_id: { uuid: requestId }, ...timeFormat },
      ),

    async newest(archiveKind, { state, since }, page) {
      const rows = await db.query(
        listedRow,
        `with page as materialized (
           select r.*, ${shownState} as shown_state
           from data_out.requests r
           where r.archive_kind = :kind
             ${since === undefined ? '' : 'and r.requested_at >= to_timestamp(cast(:since as double precision))'}
             ${state === undefined ? '' : `and ${shownState} = :state`}
           order by r.requested_at desc, r.request_id desc
           limit ${limits.exportsPerPage} offset ${page * limits.exportsPerPage}
         ), counted as (
           select request_id
           from (select request_id, sum(files) over (order by requested_at desc, request_id desc) as so_far
                 from page r where ${isCounted}) counting
           where so_far <= ${mostCounted}
         ), counts as (
           select k.request_id, c.*
           from counted k
           cross join lateral (
             select count(*) as total, ${inState('pending')} as pending, ${inState('retrying')} as retrying,
               ${inState('staged')} as staged, ${stagedBytes} as bytes
             from data_out.request_files f where f.request_id = k.request_id) c
         )
         select ${requestColumns}, r.shown_state as state,
           coalesce(c.total, case when ${isCounted} then r.files else r.files + r.closed end) as total,
           case when ${isCounted} then c.pending else 0 end as pending,
           case when ${isCounted} then c.retrying else 0 end as retrying,
           case when ${isCounted} then c.staged else coalesce(r.staged, 0) end as staged,
           case when ${isCounted} then c.bytes else coalesce(r.staged_bytes, 0) end as bytes
         from page r left join counts c on c.request_id = r.request_id
         order by r.requested_at desc, r.request_id desc`,
        {
          ...{ kind: archiveKind, ...timeFormat },
          ...(since !== undefined && { since: since.getTime() / 1000 }),
          ...(state !== undefined && { state }),
        },
      );
      return rows.map(({ total, staged, pending, retrying, bytes, ...row }) => ({
        ...withReceipt(row),
        counts: { total, staged, pending, retrying },
        bytes,
      }));
    },
  };
}

/** With the name of the receipt, once it is written, instead of its revision. */
function withReceipt<
  Row extends { requestId: string; file: string | null; dataset: string | null; receiptGeneration: number },
>({ receiptGeneration, ...row }: Row) {
  const asked = row.file ?? row.dataset;
  return { ...row, receipt: asked !== null && receiptGeneration > 0 ? receiptName(asked, row.requestId) : null };
}
