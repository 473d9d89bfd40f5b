import * as z from 'zod';
import type { ArchiveUsers } from '../../api/ports.ts';
import type { ArchiveUser } from '../../contract/users.ts';
import type { SqlExecutor } from './data-api.ts';

const userRow = z.object({ username: z.string(), password_hash: z.string() });

/** The central archive's Basic credentials, in `data_out.archive_users`. */
export class RdsArchiveUsers implements ArchiveUsers {
  readonly #db: SqlExecutor;

  constructor(db: SqlExecutor) {
    this.#db = db;
  }

  /** The user; `undefined` when there is none or the user was disabled. */
  async find(username: string): Promise<ArchiveUser | undefined> {
    // No user has a NUL in the name: PostgreSQL text cannot hold it, and the query would fail.
    if (username.includes('\0')) return undefined;
    const [row] = await this.#db.query(
      userRow,
      'select username, password_hash from data_out.archive_users where username = :username and disabled_at is null',
      { username },
    );
    return row && { username: row.username, passwordHash: row.password_hash };
  }

  /** Add the user or replace the password hash; a disabled user becomes active again. */
  async save(username: string, passwordHash: string): Promise<void> {
    await this.#db.execute(
      `insert into data_out.archive_users (username, password_hash) values (:username, :password_hash)
       on conflict (username) do update set password_hash = excluded.password_hash, disabled_at = null`,
      { username, password_hash: passwordHash },
    );
  }

  /** Refuse the user's credentials from now on. */
  async disable(username: string): Promise<void> {
    await this.#db.execute(
      'update data_out.archive_users set disabled_at = coalesce(disabled_at, now()) where username = :username',
      { username },
    );
  }
}
