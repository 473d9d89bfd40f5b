import * as z from 'zod';
import { directExpiryDays } from '../../../contract/direct-key.ts';
import { newestEvent, newestEventFirst } from '../../catalogue/datasets.ts';
import { camelRow, nilUuid, optional } from '../../stores/rds/columns.ts';
import type { SqlExecutor } from '../../stores/rds/data-api.ts';
import { lateDays, lifeOf, mayExist, mayHaveObjects } from '../quota.ts';
import { containerKey } from '../requests.ts';

/** A container that a request put into the outbox, as the rows have it. By now it may be gone or replaced. */
export interface RecordedContainer {
  readonly requestId: string;
  readonly fileId: string;
  readonly key: string;
  /** `given_up`: the last attempt failed, perhaps after the container had become visible. */
  readonly state: 'staged' | 'given_up';
}

/** Which containers: of one dataset, one recipient (outbox prefix) or one request. */
export type ContainerFilter =
  | { readonly datasetId: string }
  | { readonly recipient: string }
  | { readonly requestId: string };

/** Datasets whose newest event is `deprecated`, the newest first. `isRecent`: a container of the direct API may be left from before. */
export async function deprecatedDatasets(db: SqlExecutor) {
  return await db.query(
    camelRow({ dataset_id: z.string(), is_recent: z.boolean() }),
    `select d.stable_id as dataset_id,
       coalesce(newest.event_date > now() - make_interval(days => cast(:direct_days as integer)), false) as is_recent
     from sda.datasets d cross join lateral (
       select e.event, e.event_date from sda.dataset_event_log e where e.dataset_id = d.stable_id
       ${newestEventFirst} limit 1) newest
     where newest.event = 'deprecated'
     order by newest.event_date desc nulls last, d.stable_id`,
    { direct_days: directExpiryDays + lateDays },
  );
}

/** Rows of a page. A path has some hundred characters, so that a page stays far below the 1 MiB of a result. */
const pageSize = 400;

const containerRow = camelRow({
  request_id: z.string(),
  file_id: optional(z.string()),
  recipient: z.string(),
  outbox_key: optional(z.string()),
  state: optional(z.string()),
  submission_file_path: optional(z.string()),
  is_wanted: z.boolean(),
});

/** Whether the recipient of a row `c` also got the file through another dataset that is released and still has the file. */
const gotOtherwise = `exists (
  select from data_out.requests o
  join data_out.request_files x on x.request_id = o.request_id and x.file_id = c.file_id and x.state = 'staged'
  join sda.datasets d on d.stable_id = o.dataset_id
  join sda.files m on m.stable_id = c.file_id
  join sda.file_dataset fd on fd.file_id = m.id and fd.dataset_id = d.id
  where o.recipient = c.recipient and o.dataset_id <> c.dataset_id and ${newestEvent} = 'released'
  offset 0)`;

/**
 * Containers that may still be in the outbox, page after page. A statement finds the next files of the next requests, whether they are
 * in the outbox or not, and a row without a file for each request that has no more. So every statement reads one page, and its last row
 * says where the next page begins.
 *
 * @param expiryDays days after which the lifecycle rule of the bucket may remove a container
 * @param options.withdrawn leave out a container that the recipient may also have through another dataset
 */
export async function* recordedContainers(
  db: SqlExecutor,
  expiryDays: number,
  filter: ContainerFilter,
  { withdrawn }: { readonly withdrawn: boolean } = { withdrawn: false },
): AsyncGenerator<readonly RecordedContainer[]> {
  const [column, value] = conditionOf(filter);
  for (let after = { requestId: nilUuid, fileId: '' }; ; ) {
    const rows = await db.query(
      containerRow,
      `select cast(c.request_id as text) as request_id, c.file_id, c.recipient, c.outbox_key, c.state,
         (select s.submission_file_path from sda.files s where s.stable_id = c.file_id) as submission_file_path,
         case when not coalesce(c.is_there, false) then false else not ${withdrawn ? gotOtherwise : 'false'} end as is_wanted
       from (
         select r.request_id, r.dataset_id, r.recipient, f.file_id, f.outbox_key, f.state, f.is_there
         from (
           select r.request_id, r.dataset_id, r.recipient from data_out.requests r
           where ${column} and r.recipient is not null and ${mayHaveObjects}
             and (r.request_id > cast(:after_request as uuid)
               or r.request_id = cast(:after_request as uuid) and :after_file <> '')
           order by r.request_id
           limit ${pageSize}
         ) r left join lateral (
           select f.file_id, f.outbox_key, f.state,
             f.state in ('staged', 'given_up') and ${mayExist('f.changed_at')} as is_there
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
        ...{ value, ...lifeOf(expiryDays) },
        ...{ after_request: { uuid: after.requestId }, after_file: after.fileId },
      },
    );
    // Also an empty page, so that the caller can check its remaining time.
    yield rows.flatMap(containerOf);
    const last = rows.at(-1);
    if (!last || rows.length < pageSize) return;
    after = { requestId: last.requestId, fileId: last.fileId ?? '' };
  }
}

function conditionOf(filter: ContainerFilter): readonly [condition: string, value: string] {
  if ('datasetId' in filter) return ['r.dataset_id = :value', filter.datasetId];
  if ('recipient' in filter) return ['r.recipient = :value', filter.recipient];
  return ['r.request_id = cast(:value as uuid)', filter.requestId];
}

/** None for an attempt whose container has no known name, because the catalogue no longer has its file. */
function containerOf(row: z.infer<typeof containerRow>): RecordedContainer[] {
  const { requestId, fileId, submissionFilePath: path, state } = row;
  if (!row.isWanted || fileId === undefined) return [];
  const key = containerKey(row.outboxKey, row.recipient, fileId, path);
  if (key === undefined) return [];
  return [{ requestId, fileId, key, state: state === 'staged' ? state : 'given_up' }];
}
