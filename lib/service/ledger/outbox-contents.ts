import * as z from 'zod';
import { directExpiryDays } from '../../contract/direct-key.ts';
import { outboxKey } from '../../contract/outbox-key.ts';
import { outboxFileName } from '../archive/container-name.ts';
import { newestEvent, newestEventFirst, rowId } from '../catalogue/datasets.ts';
import type { AcceptedRequest, ContainerFilter, DeprecatedDataset, RecordedContainer } from '../export/ledger-port.ts';
import { camelRow, nilUuid, optional } from '../stores/rds/columns.ts';
import type { SqlExecutor } from '../stores/rds/data-api.ts';
import { isOpen, isReceiptOwed } from './transitions.ts';

// What the outbox may hold, as the rows of requests and files tell: for its quota, and for who removes containers.

/**
 * Days for which a container may outlive its expiry. S3 counts an expiry from the next midnight UTC, and deletes some time
 * later. AWS names no longest time.
 */
const lateDays = 2;

/** Whether an object of the outbox may still be there. The statement takes the parameter `days` of {@link expiryParameter}. */
const mayBeThere = (writtenAt: string) => `${writtenAt} > now() - make_interval(days => cast(:days as integer))`;

/**
 * Whether a request `r` may have such an object. Closing a request changes its row after the last of its files, and a file that
 * changes later opens the request again.
 */
const mayHaveObjects = `(${isReceiptOwed} or ${mayBeThere('r.updated_at')})`;

/** @param expiryDays days after which the lifecycle rule of the bucket deletes an object */
const expiryParameter = (expiryDays: number) => ({ days: expiryDays + lateDays });

/** How many bytes one recipient's part of the outbox may hold. */
export interface OutboxQuota {
  readonly gib: number;
  /** Days after which the lifecycle rule of the bucket deletes a container. It counts until it is gone. */
  readonly expiryDays: number;
}

/** The largest object that S3 takes in parts: as large may a body be whose size the catalogue does not know. */
const largestBody = 10_000 * 5 * 1024 ** 3;

/** Bytes of a container that is not written yet: the header for a recipient has the size of the archived one, which is hex. */
const expectedBytes = `case when c.archive_file_size >= 0 then c.archive_file_size else ${largestBody} end
  + coalesce(octet_length(c.header), 0) / 2`;

/**
 * Hold the decisions about one recipient, until the transaction ends. The lock needs its own statement: the next one then
 * sees what the transaction before it has committed.
 */
export async function lockRecipient(transaction: SqlExecutor, recipient: string): Promise<void> {
  await transaction.execute(
    "select pg_advisory_xact_lock(hashtextextended('outbox quota ' || :recipient, 0)) is not null",
    { recipient },
  );
}

/**
 * Whether the recipient's part of the outbox stays within the quota when the files of `request` are also staged. A file
 * counts once, with its largest container, because a repeated export replaces it. What exists, what has a row, and what an
 * accepted request has still to fan out all count.
 */
export async function fitsQuota(
  db: SqlExecutor,
  { recipient, datasetId, fileId }: Pick<AcceptedRequest, 'recipient' | 'datasetId' | 'fileId'>,
  { gib, expiryDays }: OutboxQuota,
): Promise<boolean> {
  const [row] = await db.query(
    z.object({ fits: z.boolean() }),
    `with asked as materialized (
       select r.dataset_id, r.file_id, r.sent_to from data_out.requests r
       where r.recipient = :recipient and r.state = 'accepted' and r.sealed_at is null
       union all
       select :dataset_id, cast(:file_id as text), ''
     ), containers as (
       select f.file_id, f.bytes
       from data_out.requests r join data_out.request_files f on f.request_id = r.request_id
       where r.recipient = :recipient and f.state = 'staged'
         and ${mayHaveObjects} and ${mayBeThere('f.updated_at')}
       union all
       select f.file_id, ${expectedBytes}
       from data_out.requests r
       join data_out.request_files f on f.request_id = r.request_id and ${isOpen('f')}
       join sda.files c on c.stable_id = f.file_id
       where r.recipient = :recipient
       union all
       select c.stable_id, ${expectedBytes}
       from asked join sda.files c on c.stable_id = asked.file_id
       where asked.sent_to = ''
       union all
       select c.stable_id, c.bytes
       from asked join sda.datasets d on d.stable_id = asked.dataset_id and asked.file_id is null
       cross join lateral (
         select c.stable_id, ${expectedBytes} as bytes
         from sda.file_dataset fd join sda.files c on c.id = fd.file_id
         where fd.dataset_id = d.id and fd.file_id > ${rowId('asked.sent_to')}
           and c.header <> '' and c.archive_file_path <> ''
         offset 0
       ) c
     )
     select coalesce(sum(largest.bytes), 0) <= cast(:gib as bigint) * 1073741824 as fits
     from (select file_id, max(bytes) as bytes from containers group by file_id) largest`,
    { recipient, dataset_id: datasetId, file_id: fileId ?? null, ...expiryParameter(expiryDays), gib },
  );
  return row?.fits ?? false;
}

/** The newest first. */
export async function deprecatedDatasets(db: SqlExecutor): Promise<readonly DeprecatedDataset[]> {
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
  dataset_id: optional(z.string()),
  recipient: z.string(),
  outbox_key: optional(z.string()),
  state: optional(z.string()),
  submission_file_path: optional(z.string()),
  is_wanted: z.boolean(),
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

/**
 * Containers that may still be in the outbox, as `OutboxRecords.containers`. A statement finds the next files of the next
 * requests, whether they are in the outbox or not, and a row without a file for each request that has no more. So every statement
 * reads one page, and its last row says where the next page begins.
 *
 * @param expiryDays days after which the lifecycle rule of the bucket may remove a container
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
        ...{ value, ...expiryParameter(expiryDays) },
        ...{ after_request: { uuid: after.requestId }, after_file: after.fileId },
      },
    );
    // Also a page without one, so that who removes them can look at the clock.
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

/** None for an attempt whose container has no known name: the catalogue no longer has its file. */
function containerOf(row: z.infer<typeof containerRow>): RecordedContainer[] {
  const { requestId, recipient, fileId, datasetId, outboxKey: known, submissionFilePath: path, state } = row;
  if (!row.isWanted || fileId === undefined || datasetId === undefined) return [];
  const key = known ?? (path === undefined ? undefined : outboxKey(recipient, outboxFileName(fileId, path)));
  if (key === undefined) return [];
  return [{ requestId, fileId, datasetId, recipient, key, state: state === 'staged' ? state : 'given_up' }];
}
