import * as z from 'zod';
import { fileStates } from '../../contract/delivery.ts';
import {
  type ExportedFile,
  type ExportRequestState,
  exportStates,
  type ListedExport,
  type ShownExport,
} from '../../contract/export-state.ts';
import { limits } from '../../contract/limits.ts';
import { receiptName } from '../archive/container-name.ts';
import type { ExportFilter, ExportRecords } from '../export/ports.ts';
import { count, isoTime, timeFormat } from '../stores/rds/columns.ts';
import type { SqlExecutor } from '../stores/rds/data-api.ts';
import { hasOpenFiles, isOpen } from './transitions.ts';

/** Most files that one page of the list counts. */
const mostCounted = 100_000;

const text = z.string().nullable();
const requestShape = {
  request_id: z.string(),
  shown_state: z.enum(exportStates),
  reason: text,
  kind: z.enum(['dataset', 'file']).nullable(),
  dataset_id: text,
  file_id: text,
  recipient: text,
  key_fingerprint: text,
  requested: z.string(),
  sealed: text,
  settled: text,
  generation: count,
  receipt_generation: count,
};
const requestRow = z.object(requestShape);
const listedRow = z.object({
  ...requestShape,
  total: count,
  staged: count.nullable(),
  pending: count.nullable(),
  retrying: count.nullable(),
  bytes: count.nullable(),
});
const shownRow = z.object({
  ...requestShape,
  total: count,
  pending: count,
  retrying: count,
  staged: count,
  superseded: count,
  withdrawn: count,
  rejected: count,
  given_up: count,
  bytes: count,
});
const fileRow = z
  .object({
    file_id: z.string(),
    state: z.enum(fileStates),
    reason: text,
    superseded_by: text,
    bytes: count.nullable(),
    changed: z.string(),
  })
  .transform(
    (row): ExportedFile => ({
      fileId: row.file_id,
      state: row.state,
      reason: row.reason,
      supersededBy: row.superseded_by,
      bytes: row.bytes,
      changedAt: row.changed,
    }),
  );

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
const requestColumns = `cast(r.request_id as text) as request_id, r.reason, r.kind, r.dataset_id, r.file_id, r.recipient,
  r.key_fingerprint, r.generation, r.receipt_generation, ${isoTime('r.requested_at')} as requested, ${isoTime('r.sealed_at')} as sealed,
  ${isoTime('r.settled_at')} as settled`;

const inState = (...states: string[]) => `count(*) filter (where f.state in (${states.map((each) => `'${each}'`)}))`;
const stagedBytes = "cast(coalesce(sum(f.bytes) filter (where f.state = 'staged'), 0) as bigint)";

/** What became of export requests, in `data_out.requests` and `data_out.request_files`. Reads only. */
export class RdsExportStatus implements ExportRecords {
  readonly #db: SqlExecutor;

  constructor(db: SqlExecutor) {
    this.#db = db;
  }

  async find(archiveKind: string, exportId: string): Promise<ShownExport | undefined> {
    const [row] = await this.#db.query(
      shownRow,
      `select ${requestColumns}, ${shownState} as shown_state, c.*
       from data_out.requests r
       cross join lateral (
         select count(*) as total, ${inState('pending')} as pending, ${inState('retrying')} as retrying,
           ${inState('staged')} as staged, ${inState('superseded')} as superseded, ${inState('withdrawn')} as withdrawn,
           ${inState('rejected')} as rejected, ${inState('given_up')} as given_up, ${stagedBytes} as bytes
         from data_out.request_files f where f.request_id = r.request_id) c
       where r.request_id = cast(:request as uuid) and r.archive_kind = :kind`,
      { request: { uuid: exportId }, kind: archiveKind, ...timeFormat },
    );
    if (!row) return undefined;
    const { total, pending, retrying, staged, superseded, withdrawn, rejected, given_up, bytes } = row;
    const counts = { total, pending, retrying, staged, superseded, withdrawn, rejected, given_up };
    return { ...requestOf(row), counts, bytes };
  }

  async files(exportId: string, page: number): Promise<ExportedFile[]> {
    return await this.#db.query(
      fileRow,
      `select f.file_id, f.state, f.reason, cast(f.superseded_by as text) as superseded_by, f.bytes,
         ${isoTime('f.updated_at')} as changed
       from data_out.request_files f where f.request_id = cast(:request as uuid)
       order by f.file_id limit ${limits.exportedFilesPerPage} offset ${page * limits.exportedFilesPerPage}`,
      { request: { uuid: exportId }, ...timeFormat },
    );
  }

  async newest(archiveKind: string, { state, since }: ExportFilter, page: number): Promise<ListedExport[]> {
    const rows = await this.#db.query(
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
       select ${requestColumns}, r.shown_state, coalesce(c.total, case when ${isCounted} then r.files else r.files + r.closed end) as total,
         case when ${isCounted} then c.pending else 0 end as pending,
         case when ${isCounted} then c.retrying else 0 end as retrying,
         case when ${isCounted} then c.staged else coalesce(r.staged, 0) end as staged,
         case when ${isCounted} then c.bytes else coalesce(r.staged_bytes, 0) end as bytes
       from page r left join counts c on c.request_id = r.request_id
       order by r.requested_at desc, r.request_id desc`,
      {
        kind: archiveKind,
        ...timeFormat,
        ...(since !== undefined && { since: since.getTime() / 1000 }),
        ...(state !== undefined && { state }),
      },
    );
    return rows.map((row) => {
      const { total, staged, pending, retrying, bytes } = row;
      return { ...requestOf(row), counts: { total, staged, pending, retrying }, bytes };
    });
  }
}

function requestOf(row: z.infer<typeof requestRow>): ExportRequestState {
  const asked = row.file_id ?? row.dataset_id;
  return {
    requestId: row.request_id,
    state: row.shown_state,
    reason: row.reason,
    kind: row.kind,
    dataset: row.dataset_id,
    file: row.file_id,
    recipient: row.recipient,
    keyFingerprint: row.key_fingerprint,
    requestedAt: row.requested,
    sealedAt: row.sealed,
    settledAt: row.settled,
    generation: row.generation,
    receipt: asked !== null && row.receipt_generation > 0 ? receiptName(asked, row.request_id) : null,
  };
}

/** A request, or one of its files. */
export interface FailedWork {
  readonly exportId: string;
  /** @default - the request as a whole */
  readonly fileId?: string;
}

/** A failure has a code of some letters, so that this many rows stay far below the 1 MiB of a result. */
const atOnce = 400;

const row = z.object({ position: z.coerce.number(), reason: z.string().nullable() });

/** Why requests and files failed last, as the database has it. Reads only. */
export class RdsLastFailures {
  readonly #db: SqlExecutor;

  constructor(db: SqlExecutor) {
    this.#db = db;
  }

  /**
   * @returns the reason code of each, in their order. `undefined`: the database has none, as when it was not available itself
   * @throws TemporarilyUnavailableError
   */
  async of(works: readonly FailedWork[]): Promise<readonly (string | undefined)[]> {
    const reasons: (string | undefined)[] = works.map(() => undefined);
    for (let from = 0; from < works.length; from += atOnce) {
      const asked = works.slice(from, from + atOnce).map(({ exportId, fileId = null }, index) => ({
        position: from + index,
        request_id: exportId,
        file_id: fileId,
      }));
      const rows = await this.#db.query(
        row,
        `select a.position, case when a.file_id is null then r.reason else f.reason end as reason
         from jsonb_to_recordset(cast(:asked as jsonb)) as a (position integer, request_id uuid, file_id text)
         left join data_out.requests r on r.request_id = a.request_id
         left join data_out.request_files f on f.request_id = a.request_id and f.file_id = a.file_id`,
        { asked: { json: asked } },
      );
      for (const { position, reason } of rows) if (reason !== null) reasons[position] = reason;
    }
    return reasons;
  }
}
