import * as z from 'zod';
import { directExpiryDays } from '../../contract/direct-key.ts';
import { outboxKey } from '../../contract/outbox-key.ts';
import { outboxFileName } from '../archive/container-name.ts';
import { newestEvent, newestEventFirst } from '../catalogue/datasets.ts';
import type {
  ContainerFilter,
  DeprecatedDataset,
  EndedContainer,
  OutboxRecords,
  RecordedContainer,
  RecordedCopy,
} from '../export/ports.ts';
import { nilUuid } from '../stores/rds/columns.ts';
import type { SqlExecutor } from '../stores/rds/data-api.ts';
import { expiryParameter, lateDays, mayBeThere, mayHaveObjects } from './retention.ts';
import { alsoFor, fileAssignments, newState, stateAfter, takesOneOf } from './transition-sql.ts';
import { takes } from './transitions.ts';

interface OutboxRecordsOptions {
  readonly db: SqlExecutor;
  /** Days after which the lifecycle rule of the bucket may remove a container. */
  readonly expiryDays: number;
}

/** Rows of a page. A path has some hundred characters, so that a page stays far below the 1 MiB of a result. */
const pageSize = 400;

const deprecatedRow = z.object({ stable_id: z.string(), is_recent: z.boolean() });
const containerRow = z.object({
  request_id: z.string(),
  file_id: z.string().nullable(),
  dataset_id: z.string().nullable(),
  recipient: z.string(),
  outbox_key: z.string().nullable(),
  state: z.string().nullable(),
  submission_file_path: z.string().nullable(),
  is_wanted: z.boolean(),
});
const copyRow = z.object({
  request_id: z.string(),
  file_id: z.string(),
  outbox_key: z.string(),
  upload_id: z.string(),
});

/** Whether the recipient of a row `c` also got the file through another dataset that still allows it. */
const gotOtherwise = `exists (
  select from data_out.requests o
  join data_out.request_files x on x.request_id = o.request_id and x.file_id = c.file_id and x.state = 'staged'
  join sda.datasets d on d.stable_id = o.dataset_id
  join sda.files m on m.stable_id = c.file_id
  join sda.file_dataset fd on fd.file_id = m.id and fd.dataset_id = d.id
  where o.recipient = c.recipient and o.dataset_id <> c.dataset_id and ${newestEvent} = 'released'
  offset 0)`;

/** What is recorded of the outbox, in the tables of requests, of their files and of unfinished copies. */
export class RdsOutboxRecords implements OutboxRecords {
  readonly #db: SqlExecutor;
  readonly #expiryDays: number;

  constructor({ db, expiryDays }: OutboxRecordsOptions) {
    this.#db = db;
    this.#expiryDays = expiryDays;
  }

  async deprecatedDatasets(): Promise<readonly DeprecatedDataset[]> {
    const rows = await this.#db.query(
      deprecatedRow,
      `select d.stable_id, coalesce(newest.event_date > now() - make_interval(days => cast(:direct_days as integer)), false) as is_recent
       from sda.datasets d cross join lateral (
         select e.event, e.event_date from sda.dataset_event_log e where e.dataset_id = d.stable_id
         ${newestEventFirst} limit 1) newest
       where newest.event = 'deprecated'
       order by newest.event_date desc nulls last, d.stable_id`,
      { direct_days: directExpiryDays + lateDays },
    );
    return rows.map(({ stable_id: datasetId, is_recent: isRecent }) => ({ datasetId, isRecent }));
  }

  async *containers(
    filter: ContainerFilter,
    { withdrawn }: { readonly withdrawn: boolean } = { withdrawn: false },
  ): AsyncGenerator<readonly RecordedContainer[]> {
    let after = { exportId: nilUuid, fileId: '' };
    for (;;) {
      const rows = await this.#page(filter, withdrawn, after);
      // Also a page without one, so that who removes them can look at the clock.
      yield rows.flatMap(containerOf);
      const last = rows.at(-1);
      if (!last || rows.length < pageSize) return;
      after = { exportId: last.request_id, fileId: last.file_id ?? '' };
    }
  }

  /**
   * The next files of the next requests, whether they are in the outbox or not, and a row without a file for each request that
   * has no more. So every statement reads one page, and its last row says where the next page begins.
   */
  #page(filter: ContainerFilter, withdrawn: boolean, after: { exportId: string; fileId: string }) {
    const [column, value] = conditionOf(filter);
    return this.#db.query(
      containerRow,
      `select cast(c.request_id as text) as request_id, c.file_id, c.dataset_id, c.recipient, c.outbox_key, c.state,
         (select s.submission_file_path from sda.files s where s.stable_id = c.file_id) as submission_file_path,
         case when not coalesce(c.is_there, false) then false else not ${withdrawn ? gotOtherwise : 'false'} end as is_wanted
       from (
         select r.request_id, r.dataset_id, r.recipient, f.file_id, f.outbox_key, f.state, f.is_there
         from (
           select * from data_out.requests r
           where ${column} and r.recipient is not null and ${mayHaveObjects}
             and (r.request_id > cast(:after_request as uuid) or r.request_id = cast(:after_request as uuid) and :after_file <> '')
           order by r.request_id
           limit ${pageSize}
         ) r left join lateral (
           select f.file_id, f.outbox_key, f.state,
             f.state in ('staged', 'given_up') and ${mayBeThere('f.updated_at')} as is_there
           from data_out.request_files f
           where f.request_id = r.request_id
             and f.file_id > case when r.request_id = cast(:after_request as uuid) then :after_file else '' end
           order by f.file_id
           limit ${pageSize}
         ) f on true
         order by r.request_id, f.file_id
         limit ${pageSize}
       ) c
       order by c.request_id, c.file_id`,
      {
        value,
        ...expiryParameter(this.#expiryDays),
        after_request: { uuid: after.exportId },
        after_file: after.fileId,
      },
    );
  }

  async recordEnds(containers: readonly EndedContainer[]): Promise<void> {
    // A repeated statement finds the rows ended, and raises no revision again.
    await this.#db.execute(
      `with given as materialized (
         select * from jsonb_to_recordset(cast(:containers as jsonb)) as g
           (request_id uuid, file_id text, outbox_key text, state text, superseded_by uuid)
       ), own as (
         insert into data_out.request_files as f (request_id, file_id, state, superseded_by, outbox_key)
         select request_id, file_id, state, superseded_by, outbox_key from given order by request_id, file_id
         on conflict (request_id, file_id) do update
           set state = excluded.state, ${fileAssignments('removed', (column) => `excluded.${column}`)}
         where ${takesOneOf(['removed', 'replaced'], 'f', 'excluded')}
         returning f.request_id, f.state
       ), others as (
         update data_out.request_files f set state = ${stateAfter('f', 'key_removed')}, ${fileAssignments('key_removed', (column) => column)}
         where ${takes('f', 'key_removed')} and f.outbox_key in (select outbox_key from given where state = '${newState('removed')}')
           and (f.request_id, f.file_id) not in (select request_id, file_id from given)
         returning f.request_id
       )
       ${alsoFor(
         `select request_id from own where state = '${newState('removed')}' union select request_id from others`,
         'container_removed',
       )}`,
      {
        containers: {
          json: containers.map(({ exportId, fileId, key, end, by }) => ({
            request_id: exportId,
            file_id: fileId,
            outbox_key: key,
            state: newState(end === 'withdrawn' ? 'removed' : 'replaced'),
            superseded_by: by ?? null,
          })),
        },
      },
    );
  }

  async copies(datasetId: string): Promise<readonly RecordedCopy[]> {
    const rows = await this.#db.query(
      copyRow,
      `select cast(u.request_id as text) as request_id, u.file_id, u.outbox_key, u.upload_id
       from data_out.requests r join data_out.uploads u on u.request_id = r.request_id
       where r.dataset_id = :dataset and u.upload_id is not null and u.outbox_key is not null
       order by u.request_id, u.file_id limit ${pageSize}`,
      { dataset: datasetId },
    );
    return rows.map((row) => ({
      exportId: row.request_id,
      fileId: row.file_id,
      key: row.outbox_key,
      uploadId: row.upload_id,
    }));
  }

  async forgetUpload({ exportId, fileId, uploadId }: RecordedCopy): Promise<void> {
    await this.#db.execute(
      `update data_out.uploads set outbox_key = null, upload_id = null, parts = '{}'
       where request_id = cast(:request_id as uuid) and file_id = :file_id and upload_id = :upload_id`,
      { request_id: { uuid: exportId }, file_id: fileId, upload_id: uploadId },
    );
  }
}

function conditionOf(filter: ContainerFilter): readonly [condition: string, value: string] {
  if ('datasetId' in filter) return ['r.dataset_id = :value', filter.datasetId];
  if ('recipient' in filter) return ['r.recipient = :value', filter.recipient];
  return ['r.request_id = cast(:value as uuid)', filter.exportId];
}

/** None for an attempt whose container has no known name: the catalogue no longer has its file. */
function containerOf(row: z.infer<typeof containerRow>): RecordedContainer[] {
  const { recipient, file_id: fileId, dataset_id: datasetId, submission_file_path: path, state } = row;
  if (!row.is_wanted || fileId === null || datasetId === null) return [];
  const key = row.outbox_key ?? (path === null ? undefined : outboxKey(recipient, outboxFileName(fileId, path)));
  if (key === undefined) return [];
  return [
    { exportId: row.request_id, fileId, datasetId, recipient, key, state: state === 'staged' ? state : 'given_up' },
  ];
}
