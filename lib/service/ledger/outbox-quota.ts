import * as z from 'zod';
import { rowId } from '../catalogue/datasets.ts';
import type { AcceptedRequest } from '../export/ports.ts';
import type { SqlExecutor } from '../stores/rds/data-api.ts';
import { expiryParameter, mayBeThere, mayHaveObjects } from './retention.ts';
import { isOpen } from './transitions.ts';

/** How many bytes one recipient's part of the outbox may hold. */
export interface OutboxQuota {
  /** GiB of containers. */
  readonly gib: number;
  /** Days after which the lifecycle rule of the bucket deletes a container. It counts until it is gone, see `lateDays`. */
  readonly expiryDays: number;
}

/** The largest object that S3 takes in parts: as large may a body be whose size the catalogue does not know. */
const largestBody = 10_000 * 5 * 1024 ** 3;

/** Bytes of a container that is not written yet: the header for a recipient has the size of the archived one, which is hex. */
const expectedBytes = `case when c.archive_file_size >= 0 then c.archive_file_size else ${largestBody} end
  + coalesce(octet_length(c.header), 0) / 2`;

/**
 * Hold the decisions about one recipient, until the transaction ends. The lock needs a statement of its own: the next one then
 * sees what the transaction before it has committed.
 */
export async function lockRecipient(transaction: SqlExecutor, recipient: string): Promise<void> {
  await transaction.execute(
    "select pg_advisory_xact_lock(hashtextextended('outbox quota ' || :recipient, 0)) is not null",
    { recipient },
  );
}

/**
 * Whether the recipient's part of the outbox stays within the quota when the files of `request` are staged, too. A file
 * counts once, with its largest container, because a repeated export replaces it. What is there, what has a row, and what an
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
