import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { hashPassword } from '../../common/password-hash.ts';
import type { AdministratorsDocument } from '../../contract/secrets.ts';
import { smokeUserPrefix } from '../catalogue/smoke-rows.ts';
import { readAdministrators } from '../commands/logins.ts';
import { OpsError } from '../errors.ts';
import { type EditableSecret, SecretChangedError } from '../stores/json-secret.ts';
import type { Target } from '../target.ts';
import type { Access } from './run.ts';

/** Attempts to change the secret while others also change it. */
const attempts = 8;
/** Milliseconds that keep two runs apart. */
const jitterMs = 500;

/** Users for one run, which no deployment knows yet. Their passwords are random. */
export function newUsers(username: string): Pick<Access, 'admin' | 'archiveUser'> {
  const user = () => ({ username, password: randomBytes(24).toString('base64url') });
  return { admin: user(), archiveUser: user() };
}

/** Make the users of a run known: an administrator and a user of the central archive. */
export async function saveUsers(
  { administrators, archiveUsers }: Pick<Target, 'administrators' | 'archiveUsers'>,
  { admin, archiveUser }: Pick<Access, 'admin' | 'archiveUser'>,
): Promise<void> {
  await archiveUsers.save(archiveUser.username, await hashPassword(archiveUser.password));
  const password = await hashPassword(admin.password);
  await changed(administrators, (users) => [...users, { username: admin.username, password, roles: ['ADMIN'] }]);
}

/** Remove the administrator of a run. Removing one that is not there is no error. */
export async function removeAdministrator(secret: EditableSecret, username: string): Promise<void> {
  await changed(secret, (users) => users.filter((user) => user.username !== username));
}

/** Administrators of runs that began before a time, which their names hold. */
export async function leftAdministrators(secret: EditableSecret, before: Date): Promise<readonly string[]> {
  const form = new RegExp(`^${smokeUserPrefix}(\\d{4})(\\d\\d)(\\d\\d)t(\\d\\d)(\\d\\d)(\\d\\d)z-[0-9a-f]{8}$`);
  const { users } = await readAdministrators(secret);
  return users
    .map(({ username }) => username)
    .filter((username) => {
      const [, year, month, day, hour, minute, second] = form.exec(username) ?? [];
      return (
        year !== undefined && Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`) <= before.getTime()
      );
    });
}

type Users = AdministratorsDocument['users'];

/** Change the secret. When others change it at the same moment, it is read and changed again. */
async function changed(secret: EditableSecret, change: (users: Users) => Users): Promise<void> {
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    const { users } = await readAdministrators(secret);
    try {
      await secret.write({ users: change(users) });
      return;
    } catch (error) {
      if (!(error instanceof SecretChangedError)) throw error;
    }
    await pause(jitterMs * Math.random());
  }
  throw new OpsError('conflict', "another process keeps changing the administrators' secret: run the suite again");
}
