import * as z from 'zod';
import { outboxFileName } from '../../../archive/container-name.ts';
import { directExpiryDays } from '../../../contract/direct-key.ts';
import { outboxKey } from '../../../contract/outbox-key.ts';
import type {
  ContainerFilter,
  DeprecatedDataset,
  OutboxRecords,
  RecordedContainer,
  RecordedCopy,
  SettledContainer,
} from '../../../export/withdraw/ports.ts';
import { newestEvent, newestEventFirst } from '../archive/dataset-events.ts';
import type { SqlExecutor } from '../data-api.ts';
import { expiryParameter, lateDays, mayBeThere } from './outbox-expiry.ts';

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
  file_id: z.string(),
  dataset_id: z.string(),
  recipient: z.string(),
  outbox_key: z.string().nullable(),
  state: z.enum(['staged', 'given_up']),
  submission_file_path: z.string().nullable(),
  got_otherwise: z.boolean(),
});
const copyRow = z.object({
  request_id: z.string(),
  file_id: z.string(),
  outbox_key: z.string(),
  upload_id: z.string(),
});

/**
 * Every container that a request wrote, or tried to. Requests of earlier versions have no row: the audit trail tells of their
 * containers, and a container of theirs that is settled gets a row. OFFSET makes PostgreSQL look by index for each row; it
 * would join whole tables otherwise. CASE asks the smaller table first.
 */
const recorded = `(
  select f.request_id, f.file_id, r.dataset_id, r.recipient, f.outbox_key, f.state, f.updated_at as recorded_at
  from data_out.request_files f join data_out.requests r on r.request_id = f.request_id
  where f.state in ('staged', 'given_up')
  union all
  select l.request_id, l.file_id, l.dataset_id, l.recipient, null, 'staged', l.recorded_at
  from data_out.export_log l
  where l.event = 'staged' and case
    when exists (select from data_out.requests k where k.request_id = l.request_id offset 0) then false
    else not exists (
      select from data_out.request_files k where k.request_id = l.request_id and k.file_id = l.file_id offset 0) end)`;

/** Whether the recipient of a row `c` also got the file through another dataset that still allows it. */
const gotOtherwise = `exists (
  select from ${recorded} o
  join sda.datasets d on d.stable_id = o.dataset_id
  join sda.files m on m.stable_id = o.file_id
  join sda.file_dataset fd on fd.file_id = m.id and fd.dataset_id = d.id
  where o.recipient = c.recipient and o.file_id = c.file_id and o.dataset_id <> c.dataset_id and o.state = 'staged'
    and ${newestEvent} = 'released'
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
    let after = { requestId: '00000000-0000-0000-0000-000000000000', fileId: '' };
    for (;;) {
      const rows = await this.#page(filter, withdrawn, after);
      if (rows.length > 0) yield rows.filter((row) => !row.got_otherwise).flatMap(containerOf);
      const last = rows.at(-1);
      if (!last || rows.length < pageSize) return;
      after = { requestId: last.request_id, fileId: last.file_id };
    }
  }

  #page(filter: ContainerFilter, withdrawn: boolean, after: { requestId: string; fileId: string }) {
    const [column, value] = conditionOf(filter);
    return this.#db.query(
      containerRow,
      `select cast(c.request_id as text) as request_id, c.file_id, c.dataset_id, c.recipient, c.outbox_key, c.state,
         f.submission_file_path, ${withdrawn ? gotOtherwise : 'false'} as got_otherwise
       from (
         select * from ${recorded} c
         where ${column} and c.recipient is not null and ${mayBeThere('c.recorded_at')}
           and (c.request_id, c.file_id) > (cast(:after_request as uuid), :after_file)
         order by c.request_id, c.file_id
         limit ${pageSize}
       ) c left join sda.files f on f.stable_id = c.file_id
       order by c.request_id, c.file_id`,
      {
        value,
        ...expiryParameter(this.#expiryDays),
        after_request: { uuid: after.requestId },
        after_file: after.fileId,
      },
    );
  }

  async settle(containers: readonly SettledContainer[]): Promise<void> {
    // A repeated statement finds the rows settled, and raises no generation again.
    await this.#db.execute(
      `with given as materialized (
         select * from jsonb_to_recordset(cast(:containers as jsonb)) as g
           (request_id uuid, file_id text, outbox_key text, state text, superseded_by uuid)
       ), own as (
         insert into data_out.request_files as f (request_id, file_id, state, superseded_by, outbox_key)
         select request_id, file_id, state, superseded_by, outbox_key from given order by request_id, file_id
         on conflict (request_id, file_id) do update set state = excluded.state, reason = null,
           superseded_by = excluded.superseded_by, outbox_key = excluded.outbox_key, updated_at = now()
         where f.state in ('staged', 'given_up')
         returning f.request_id, f.state
       ), others as (
         update data_out.request_files f set state = 'withdrawn', superseded_by = null, updated_at = now()
         where f.state in ('staged', 'superseded') and f.outbox_key in (select outbox_key from given where state = 'withdrawn')
           and (f.request_id, f.file_id) not in (select request_id, file_id from given)
         returning f.request_id
       )
       update data_out.requests set generation = generation + 1, updated_at = now()
       where request_id in (
         select request_id from own where state = 'withdrawn' union select request_id from others)`,
      {
        containers: {
          json: containers.map(({ requestId, fileId, key, end, by }) => ({
            request_id: requestId,
            file_id: fileId,
            outbox_key: key,
            state: end,
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
      requestId: row.request_id,
      fileId: row.file_id,
      key: row.outbox_key,
      uploadId: row.upload_id,
    }));
  }

  async forgetUpload({ requestId, fileId, uploadId }: RecordedCopy): Promise<void> {
    await this.#db.execute(
      `update data_out.uploads set outbox_key = null, upload_id = null, parts = '{}'
       where request_id = cast(:request_id as uuid) and file_id = :file_id and upload_id = :upload_id`,
      { request_id: { uuid: requestId }, file_id: fileId, upload_id: uploadId },
    );
  }
}

function conditionOf(filter: ContainerFilter): readonly [condition: string, value: string] {
  if ('datasetId' in filter) return ['c.dataset_id = :value', filter.datasetId];
  if ('recipient' in filter) return ['c.recipient = :value', filter.recipient];
  return ['c.request_id = cast(:value as uuid)', filter.requestId];
}

/** None for a container without a row of its own, if the catalogue no longer has its file: its name is not known. */
function containerOf(row: z.infer<typeof containerRow>): RecordedContainer[] {
  const { recipient, file_id: fileId, submission_file_path: path } = row;
  const key = row.outbox_key ?? (path === null ? undefined : outboxKey(recipient, outboxFileName(fileId, path)));
  if (key === undefined) return [];
  return [{ requestId: row.request_id, fileId, datasetId: row.dataset_id, recipient, key, state: row.state }];
}
