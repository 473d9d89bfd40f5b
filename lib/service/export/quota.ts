import * as z from 'zod';
import type { SqlExecutor } from '../stores/rds/data-api.ts';
import { isOpen, isUnsettled } from './requests.ts';

/**
 * Days for which a container may outlive its expiry. S3 counts an expiry from the next midnight UTC, and deletes some time
 * later. AWS names no longest time.
 */
export const lateDays = 2;

/** Whether an object that was written at this time may still exist. The statement takes the parameter `days` of {@link lifeOf}. */
export const mayExist = (writtenAt: string) => `${writtenAt} > now() - make_interval(days => cast(:days as integer))`;

/** Whether a request `r` may have objects in the outbox: it is settled after the last change of its files. */
export const mayHaveObjects = `(${isUnsettled} or ${mayExist('r.settled_at')})`;

/** @param expiryDays days after which the lifecycle rule of the bucket deletes an object */
export const lifeOf = (expiryDays: number) => ({ days: expiryDays + lateDays });

/** How many bytes one recipient's part of the outbox may hold. */
export interface OutboxQuota {
  readonly gib: number;
  /** Days after which the lifecycle rule of the bucket deletes a container. It counts until it is gone. */
  readonly expiryDays: number;
}

/**
 * Bytes of a container that is not written yet, from the file `f` of the catalogue. The header for a recipient is as large as the archived
 * one, which is in hex. A file whose size the catalogue does not have cannot be staged, and takes no room.
 */
export const expectedBytes = 'greatest(f.archive_file_size, 0) + coalesce(octet_length(f.header), 0) / 2';

/**
 * Whether the recipient's part of the outbox stays within the quota when some more files are staged. Ask under the lock of the recipient. A
 * file counts once, with its largest container, because a repeated export replaces it.
 *
 * @param wanted query of `file_id` and `bytes` of these files
 */
export async function fitsQuota(
  db: SqlExecutor,
  recipient: string,
  wanted: { readonly sql: string; readonly parameters: Parameters<SqlExecutor['query']>[2] },
  { gib, expiryDays }: OutboxQuota,
): Promise<boolean> {
  const [row] = await db.query(
    z.object({ fits: z.boolean() }),
    `select coalesce(sum(largest.bytes), 0) <= cast(:gib as bigint) * 1073741824 as fits
     from (
       select each.file_id, max(each.bytes) as bytes
       from (
         select f.file_id, f.bytes
         from data_out.requests r join data_out.request_files f on f.request_id = r.request_id
         where r.recipient = :recipient and ${mayHaveObjects}
           and (${isOpen('f')} or f.state = 'staged' and ${mayExist('f.changed_at')})
         union all
         ${wanted.sql}
       ) each (file_id, bytes)
       group by each.file_id
     ) largest`,
    { ...wanted.parameters, recipient, ...lifeOf(expiryDays), gib },
  );
  return row?.fits ?? false;
}
