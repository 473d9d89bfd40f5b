import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Access } from '../demo/users.ts';
import { addAdministrator, readAdministrators } from '../ops/commands/admin.ts';
import { addArchiveUser } from '../ops/commands/user.ts';
import { OpsError } from '../ops/errors.ts';
import type { EditableSecret, Target } from '../ops/ports.ts';
import { smokeUserPrefix } from '../stores/rds/smoke-rows.ts';

/** Attempts to change the secret while others change it, too. */
const attempts = 8;

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
  await addArchiveUser({ archiveUsers }, archiveUser);
  await settled(
    administrators,
    (names) => names.includes(admin.username),
    async () => {
      await addAdministrator(administrators, { ...admin, roles: ['ADMIN'], replace: true });
    },
  );
}

/** Remove the administrator of a run. Removing one that is not there is no error. */
export async function removeAdministrator(secret: EditableSecret, username: string): Promise<void> {
  await settled(
    secret,
    (names) => !names.includes(username),
    async () => {
      const { users } = await readAdministrators(secret);
      await secret.write({ users: users.filter((user) => user.username !== username) });
    },
  );
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

/**
 * Change the secret until it is as wanted. A secret has no conditional write: when two runs change it at once, the later write
 * undoes the earlier one. So each looks again after a moment.
 */
async function settled(
  secret: EditableSecret,
  isWanted: (usernames: readonly string[]) => boolean,
  change: () => Promise<void>,
): Promise<void> {
  const looks = async () => isWanted((await readAdministrators(secret)).users.map(({ username }) => username));
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    if (await looks()) {
      await pause(500 * Math.random());
      if (await looks()) return;
    }
    await change();
  }
  throw new OpsError('conflict', "another process keeps changing the administrators' secret: run the suite again");
}
