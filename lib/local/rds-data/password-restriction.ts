import type { PGlite } from '@electric-sql/pglite';
import { UnsupportedTemplateError } from '../errors.ts';
import type { Deployment } from '../template/deployment.ts';
import { optionalText, record, whereOf } from '../template/template.ts';
import type { Login } from './database-login.ts';

/** Whose members may set passwords while `rds.restrict_password_commands` is on. */
const managers = 'rds_password';
/** Statements that can change a password, also out of sight, inside a block or a function. */
const suspects = /\b(?:alter|create|call|pg_temp|do(?!\s+(?:nothing|update)\b))\b/i;

/**
 * Whether a cluster of the template lets members of `rds_password` alone set passwords. The parameter is static: RDS reads it when
 * the database starts.
 *
 * @throws UnsupportedTemplateError for another parameter, or another value
 */
export function restrictsPasswords(deployment: Deployment): boolean {
  const used = deployment
    .resources('AWS::RDS::DBCluster')
    .map((each) => optionalText(each, 'DBClusterParameterGroupName'));
  const groups = deployment.resources('AWS::RDS::DBClusterParameterGroup').filter(({ id }) => used.includes(id));
  const values = groups.flatMap((group) =>
    Object.entries(record(group.property('Parameters'))).map(([name, value]) => {
      if (name === 'rds.restrict_password_commands' && (value === '0' || value === '1')) return value;
      throw new UnsupportedTemplateError(whereOf(group), `the parameter ${name} = ${value} cannot be set locally`);
    }),
  );
  return values.includes('1');
}

/** Make the role that every database of RDS has, and answer `show rds.restrict_password_commands`. */
export async function prepareRestriction(postgres: PGlite, isOn: boolean): Promise<void> {
  await postgres.exec(`
    DO $$ BEGIN
      IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '${managers}') THEN CREATE ROLE ${managers}; END IF;
    END $$;
    SET rds.restrict_password_commands = ${isOn ? 'on' : 'off'}`);
}

export function canChangePasswords(sql: string): boolean {
  return suspects.test(sql);
}

/**
 * Whether a statement, also of the owner, may change who can log in and by what. What a function of the database does inside is not
 * seen: the project has none that changes a login.
 */
export function canChangeLogins(sql: string): boolean {
  return canChangePasswords(sql) || /\b(?:drop|pg_authid)\b/i.test(sql);
}

/**
 * Carry out a statement of a login inside a transaction. RDS checks each command of a statement. PostgreSQL has no hook
 * for that from outside, so the stored passwords are compared instead.
 *
 * @param asOwner runs SQL in the transaction as the owner, and then becomes the login again
 * @throws Error of PostgreSQL, which ends the transaction, when a password or its expiry has changed and the login is not a member
 * of `rds_password`
 */
export async function keepingPasswords<T>(
  { username }: Login,
  asOwner: (sql: string, values?: readonly string[]) => Promise<readonly unknown[]>,
  statement: () => Promise<T>,
): Promise<T> {
  const passwords = async () =>
    JSON.stringify(
      await asOwner(`select oid, rolpassword, rolvaliduntil from pg_authid
                     where rolpassword is not null or rolvaliduntil is not null order by oid`),
    );
  const before = await passwords();
  const result = await statement();
  if (before === (await passwords())) return result;
  const [isManager] = await asOwner(
    `select from pg_roles where rolname = $1 and pg_has_role(oid, '${managers}', 'member')`,
    [username],
  );
  if (isManager === undefined) {
    await asOwner(`do $$ begin
      raise insufficient_privilege using message = 'must be a member of ${managers} to alter passwords';
    end $$`);
  }
  return result;
}
