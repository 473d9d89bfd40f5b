import * as z from 'zod';
import {
  type ExportedFile,
  type ExportState,
  exportStates,
  type FileState,
  fileStates,
  type ListedExport,
  type ShownExport,
} from '../../contract/export-state.ts';
import { limits } from '../../contract/limits.ts';
import { camelRow, count, isoTime, pageSize, timeFormat } from '../stores/rds/columns.ts';
import type { SqlExecutor } from '../stores/rds/data-api.ts';
import { isOpen, isUnsettled } from './requests.ts';

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
  settled_at: text,
  generation: count,
  receipt: text,
};
const requestColumns = `cast(r.request_id as text) as request_id, r.reason, r.kind, r.dataset_id as dataset, r.file_id as file,
  r.recipient, r.key_fingerprint, r.revision as generation, r.receipt, ${isoTime('r.requested_at')} as requested_at,
  ${isoTime('r.settled_at')} as settled_at`;

const shownRow = camelRow({
  ...requestShape,
  counts: z.string().transform((json): Readonly<Record<FileState | 'total', number>> => JSON.parse(json)),
  bytes: count,
});
const listedRow = camelRow({
  ...requestShape,
  files: count,
  staged: count.nullable(),
  pending: count.nullable(),
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
 * A request is staging until it is settled, also again: after a retry as after a withdrawal. The first files of a request are sent first and
 * end first, so that only a page of them is looked at.
 */
const shownState = `case
    when not ${isUnsettled} then r.state
    when r.state = 'accepted' and not exists (
      select from (
        select o.state from data_out.request_files o where o.request_id = r.request_id
        order by o.file_id limit ${pageSize}) f
      where not ${isOpen('f')})
      then 'accepted'
    else 'staging'
  end`;

/** Whether the list counts the files of a request: until it is settled, it has no sum. Of a table `r` with `shown_state`. */
const isCounted = "r.shown_state in ('accepted', 'staging')";

const shownFileState = `case when ${isOpen('f')} then 'pending' else f.state end`;
const inState = (state: FileState) => `count(*) filter (where ${shownFileState} = '${state}')`;
const stagedBytes = "cast(coalesce(sum(f.bytes) filter (where f.state = 'staged'), 0) as bigint)";

/** Of a settled request what its receipt lists, as the list of requests has it: also containers that a newer export wrote. */
const settledOr = (column: string, counted: string) =>
  `coalesce(case when not ${isUnsettled} then r.${column} end, ${counted})`;
const delivered = settledOr('staged', inState('staged'));
const countOf = (state: FileState) => {
  if (state === 'staged') return delivered;
  return state === 'superseded' ? `${inState('staged')} + ${inState(state)} - ${delivered}` : inState(state);
};

/** Which export requests; both conditions together. @default - all */
export interface ExportFilter {
  readonly state?: ExportState | undefined;
  /** Requested at this time or later. */
  readonly since?: Date | undefined;
}

/** What happened to export requests, as administrators see it. A request has a row from its consumption on. Reads only. */
export function exportRecords(db: SqlExecutor) {
  return {
    async find(archiveKind: string, requestId: string): Promise<ShownExport | undefined> {
      const [row] = await db.query(
        shownRow,
        `select ${requestColumns}, ${shownState} as state, c.*
         from data_out.requests r
         cross join lateral (
           select cast(json_build_object('total', count(*),
               ${fileStates.map((state) => `'${state}', ${countOf(state)}`).join(', ')}) as text) as counts,
             ${settledOr('staged_bytes', stagedBytes)} as bytes
           from data_out.request_files f where f.request_id = r.request_id) c
         where r.request_id = cast(:request_id as uuid) and r.archive_kind = :kind`,
        { request_id: { uuid: requestId }, kind: archiveKind, ...timeFormat },
      );
      return row;
    },

    /** Files of a request in the order of their ids. @param page from 0 */
    files: (requestId: string, page: number): Promise<readonly ExportedFile[]> =>
      db.query(
        fileRow,
        `select f.file_id, ${shownFileState} as state, f.reason, cast(f.superseded_by as text) as superseded_by,
           case f.state when 'staged' then f.bytes end as bytes, ${isoTime('f.changed_at')} as changed_at
         from data_out.request_files f where f.request_id = cast(:request_id as uuid)
         order by f.file_id limit ${limits.exportedFilesPerPage} offset ${page * limits.exportedFilesPerPage}`,
        { request_id: { uuid: requestId }, ...timeFormat },
      ),

    /** Newest first. @param page from 0 */
    async newest(archiveKind: string, { state, since }: ExportFilter, page: number): Promise<readonly ListedExport[]> {
      const rows = await db.query(
        listedRow,
        `with page as materialized (
           select r.request_id, r.reason, r.kind, r.dataset_id, r.file_id, r.recipient, r.key_fingerprint, r.revision, r.receipt,
             r.requested_at, r.settled_at, r.files, r.staged, r.staged_bytes, ${shownState} as shown_state from data_out.requests r
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
             select ${inState('pending')} as pending, ${inState('staged')} as staged, ${stagedBytes} as bytes
             from data_out.request_files f where f.request_id = k.request_id) c
         )
         select ${requestColumns}, r.shown_state as state, r.files,
           case when ${isCounted} then c.pending else 0 end as pending,
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
      return rows.map(({ files: total, staged, pending, bytes, ...row }) => ({
        ...{ ...row, counts: { total, staged, pending }, bytes },
      }));
    },
  };
}
export type ExportRecords = ReturnType<typeof exportRecords>;
