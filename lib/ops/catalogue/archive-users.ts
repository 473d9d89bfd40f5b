import * as z from 'zod';
import { RdsArchiveUsers } from '../../service/catalogue/users.ts';
import { camelRow, optional, pageSize } from '../../service/stores/rds/columns.ts';
import { pages } from './pages.ts';

const listedUser = camelRow({
  username: z.string(),
  created_at: z.string(),
  /** `undefined` for an active user. */
  disabled_at: optional(z.string()),
});

/** A user as an operator sees one. Times are ISO 8601, UTC. */
export type ListedUser = z.infer<typeof listedUser>;

/** The central archive's users, as an operator changes them. */
export class ArchiveUserWriter extends RdsArchiveUsers {
  /** All users, including disabled ones, in the order of their names, page after page. Without password hashes. */
  list(): AsyncGenerator<ListedUser> {
    const read = (after: string) =>
      this.db.query(
        listedUser,
        `select username, to_char(created_at at time zone 'UTC', :time_format) as created_at,
           to_char(disabled_at at time zone 'UTC', :time_format) as disabled_at
         from data_out.archive_users where username > :after order by username limit ${pageSize}`,
        // A parameter, because the Data API might take colons in a statement for parameters.
        { after, time_format: 'YYYY-MM-DD"T"HH24:MI:SS"Z"' },
      );
    return pages('', read, ({ username }) => username, pageSize);
  }

  /** Add the user or replace the password hash; a disabled user becomes active again. */
  async save(username: string, passwordHash: string): Promise<void> {
    await this.db.execute(
      `insert into data_out.archive_users (username, password_hash) values (:username, :password_hash)
       on conflict (username) do update set password_hash = excluded.password_hash, disabled_at = null`,
      { username, password_hash: passwordHash },
    );
  }

  /** Refuse the user's credentials from now on. */
  async disable(username: string): Promise<void> {
    await this.db.execute(
      'update data_out.archive_users set disabled_at = coalesce(disabled_at, now()) where username = :username',
      { username },
    );
  }
}
