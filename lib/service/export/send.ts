import * as z from 'zod';
import { unavailable } from '../../errors.ts';
import { largestSmallBody } from '../containers/plan.ts';
import type { FileExportsQueue } from '../stores/queues.ts';
import { pageSize } from '../stores/rds/columns.ts';
import type { SqlExecutor } from '../stores/rds/data-api.ts';

/** The queues that an export passes, and the rows that drive it. */
export interface SendDependencies {
  readonly db: SqlExecutor;
  /** Files over 8 MiB, each staged alone. */
  readonly fileExports: FileExportsQueue;
  /** All others, staged ten at a time. */
  readonly smallFileExports: FileExportsQueue;
}

const waitingRow = z.object({ file_id: z.string(), recipient: z.string(), is_large: z.boolean() });

/**
 * Send a message for each file of a request that waits, a page at a time, and mark the page as sent. A run that died is continued from the rows;
 * what it had sent and not marked is sent twice, and staging is idempotent.
 *
 * @param hasTime asked before each page
 * @returns how many were sent
 * @throws temporarily_unavailable when the time is over: the message comes back at once
 */
export async function sendWaiting(
  requestId: string,
  { db, fileExports, smallFileExports }: SendDependencies,
  hasTime: () => boolean,
): Promise<number> {
  let sent = 0;
  for (let after = ''; ; ) {
    const rows = await db.query(
      waitingRow,
      // Not a join, which may read the whole catalogue to meet the last files.
      `select w.file_id, r.recipient, coalesce((
           select c.archive_file_size > ${largestSmallBody} from sda.files c where c.stable_id = w.file_id), false) as is_large
       from (
         select f.file_id from data_out.request_files f
         where f.request_id = cast(:request_id as uuid) and f.state = 'waiting' and f.file_id > :after
         order by f.file_id limit ${pageSize}
       ) w
       join data_out.requests r on r.request_id = cast(:request_id as uuid) and r.recipient is not null
       order by w.file_id`,
      { request_id: { uuid: requestId }, after },
    );
    const [first] = rows;
    const last = rows.at(-1)?.file_id ?? '';
    if (!first) return sent;
    if (!hasTime()) {
      throw unavailable('the invocation ends soon; the next one sends the other files', { retryAfterSeconds: 0 });
    }
    const ids = (isLarge: boolean) => rows.filter((row) => row.is_large === isLarge).map((row) => row.file_id);
    await smallFileExports.send(requestId, ids(false), first.recipient);
    await fileExports.send(requestId, ids(true), first.recipient);
    await db.execute(
      `update data_out.request_files f set state = 'sent', changed_at = now()
       where f.request_id = cast(:request_id as uuid) and f.state = 'waiting' and f.file_id between :first and :last
         and f.file_id in (select id from jsonb_array_elements_text(cast(:ids as jsonb)) as ids (id))`,
      { request_id: { uuid: requestId }, first: first.file_id, last, ids: { json: rows.map((row) => row.file_id) } },
    );
    sent += rows.length;
    after = last;
  }
}
