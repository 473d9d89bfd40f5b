import type { PGlite } from '@electric-sql/pglite';

/** Whose members may set passwords while the parameter is on. */
const managers = 'rds_password';

/** Make the role that every database of RDS has, and answer `show rds.restrict_password_commands`. */
export async function prepareRestriction(postgres: PGlite): Promise<void> {
  await postgres.exec(`
    DO $$ BEGIN
      IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '${managers}') THEN CREATE ROLE ${managers}; END IF;
    END $$;
    SET rds.restrict_password_commands = on`);
}

/** Whether a statement sets a password or its expiry. What a block or a function does inside is not seen. */
export function setsPassword(sql: string): boolean {
  return /\b(?:alter|create)\s+(?:role|user)\b.*\b(?:password|valid\s+until)\b/is.test(sql);
}

/** Fail as RDS does when the present role is not a member of `rds_password`. The failure ends the transaction. */
export async function refusePasswords(postgres: PGlite): Promise<void> {
  await postgres.exec(`do $$ begin
    if not pg_has_role('${managers}', 'member') then
      raise insufficient_privilege using message = 'must be a member of ${managers} to alter passwords';
    end if;
  end $$`);
}
