import { randomBytes } from 'node:crypto';
import { hashPassword } from '../../common/password-hash.ts';
import { smokeUserPattern } from '../catalogue/smoke-rows.ts';
import { readAdministrators } from '../commands/logins.ts';
import type { EditableSecret } from '../stores/json-secret.ts';
import type { Target } from '../target.ts';
import type { Check } from './check.ts';
import type { Access } from './run.ts';

type Users = Required<Access>;

/** Users for one run, which no deployment knows yet. Their passwords are random. */
export function newUsers(username: string): Users {
  const user = (name: string) => ({ username: name, password: randomBytes(24).toString('base64url') });
  return { admin: user(username), archiveUser: user(username), withoutRole: user(`${username}-other`) };
}

/** Make the users of a run known: two of the administrators' secret, and one of the central archive. */
export async function saveUsers(
  { administrators, archiveUsers }: Pick<Target, 'administrators' | 'archiveUsers'>,
  { admin, archiveUser, withoutRole }: Access,
): Promise<void> {
  await archiveUsers.save(archiveUser.username, await hashPassword(archiveUser.password));
  const { users } = await readAdministrators(administrators);
  const entry = async ({ username, password }: Users['admin'], roles: 'ADMIN'[]) => ({
    ...{ username, password: await hashPassword(password), roles },
  });
  const made = [await entry(admin, ['ADMIN']), ...(withoutRole ? [await entry(withoutRole, [])] : [])];
  await administrators.write({ users: [...users, ...made] });
}

const ofRun = new RegExp(smokeUserPattern);

/** Remove the users of all runs from the administrators' secret. @returns their names */
export async function removeAdministrators(secret: EditableSecret): Promise<readonly string[]> {
  const { users } = await readAdministrators(secret);
  const found = users.map(({ username }) => username).filter((username) => ofRun.test(username));
  if (found.length > 0) await secret.write({ users: users.filter(({ username }) => !found.includes(username)) });
  return found;
}

export const users: Check = {
  id: 'users',
  title: 'users of the API are made for this run',
  remedy: "Look at the rights of your credentials on the database and on the administrators' secret.",
  async run({ deployment, target, access, ids }) {
    if (deployment.connection) return 'those of the connection file';
    await saveUsers(target, access);
    return ids.username;
  },
};
