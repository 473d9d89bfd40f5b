import * as z from 'zod';
import { count } from '../stores/rds/columns.ts';
import type { SqlExecutor } from '../stores/rds/data-api.ts';
import { isReceiptOwed } from './transitions.ts';

/** What one statement deletes at most, besides 5,000 files of the requests. */
const mostRequests = 100;
const mostEvents = 5000;

/** How long the database keeps rows about requests. */
export class RdsRetention {
  readonly #db: SqlExecutor;

  constructor(db: SqlExecutor) {
    this.#db = db;
  }

  /** Set the days, as the owner of the tables. @param days `undefined`: rows are kept for good */
  async keep(days: number | undefined): Promise<void> {
    if (days === undefined) {
      await this.#db.execute('delete from data_out.retention');
      return;
    }
    await this.#db.execute(
      `insert into data_out.retention (days) values (cast(:days as integer))
       on conflict (only_row) do update set days = excluded.days`,
      { days },
    );
  }

  /** Delete some of the rows that are older. @returns how many requests, files of them, and rows of the audit trail; 0: none are left */
  async deleteExpired(): Promise<number> {
    const [row] = await this.#db.query(
      z.object({ deleted: count }),
      'select data_out.delete_expired(cast(:requests as integer), cast(:events as integer)) as deleted',
      { requests: mostRequests, events: mostEvents },
    );
    return row?.deleted ?? 0;
  }
}

/**
 * Days for which a container may outlive its expiry. S3 counts an expiry from the next midnight UTC, and deletes some time
 * later. AWS names no longest time.
 */
export const lateDays = 2;

/** Whether an object of the outbox may still be there. The statement takes the parameter `days` of {@link expiryParameter}. */
export const mayBeThere = (writtenAt: string) => `${writtenAt} > now() - make_interval(days => cast(:days as integer))`;

/**
 * Whether a request `r` may have such an object. Closing a request changes its row after the last of its files, and a file that
 * changes later opens the request again.
 */
export const mayHaveObjects = `(${isReceiptOwed} or ${mayBeThere('r.updated_at')})`;

/** @param expiryDays days after which the lifecycle rule of the bucket deletes an object */
export const expiryParameter = (expiryDays: number) => ({ days: expiryDays + lateDays });
