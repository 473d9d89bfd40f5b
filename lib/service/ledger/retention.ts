import * as z from 'zod';
import { count } from '../stores/rds/columns.ts';
import type { SqlExecutor } from '../stores/rds/data-api.ts';

/** What one statement deletes at most, besides 5,000 files of the requests. */
const mostRequests = 100;
const mostEvents = 5000;

/** Set how many days the database keeps rows about requests, as the owner of the tables. @param days `undefined`: for good */
export async function keepRows(db: SqlExecutor, days: number | undefined): Promise<void> {
  if (days === undefined) {
    await db.execute('delete from data_out.retention');
    return;
  }
  await db.execute(
    `insert into data_out.retention (days) values (cast(:days as integer))
     on conflict (only_row) do update set days = excluded.days`,
    { days },
  );
}

/** Delete some of the rows that are older. @returns how many requests, files of them, and rows of the audit trail; 0: none are left */
export async function deleteExpiredRows(db: SqlExecutor): Promise<number> {
  const [row] = await db.query(
    z.object({ deleted: count }),
    'select data_out.delete_expired(cast(:requests as integer), cast(:events as integer)) as deleted',
    { requests: mostRequests, events: mostEvents },
  );
  return row?.deleted ?? 0;
}
