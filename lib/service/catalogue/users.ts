import * as z from 'zod';
import type { ArchiveUser, ArchiveUsers } from '../outbox/ports.ts';
import type { SqlExecutor } from '../stores/rds/data-api.ts';

const userRow = z.object({ username: z.string(), passwordHash: z.string() });

/** The central archive's Basic credentials, in `data_out.archive_users`. */
export class RdsArchiveUsers implements ArchiveUsers {
  protected readonly db: SqlExecutor;

  constructor(db: SqlExecutor) {
    this.db = db;
  }

  /** The user; `undefined` when there is none or the user was disabled. */
  async find(username: string): Promise<ArchiveUser | undefined> {
    // No user has a NUL in the name: PostgreSQL text cannot hold it, and the query would fail.
    if (username.includes('\0')) return undefined;
    const [row] = await this.db.query(
      userRow,
      `select username, password_hash as "passwordHash" from data_out.archive_users
       where username = :username and disabled_at is null`,
      { username },
    );
    return row;
  }
}
