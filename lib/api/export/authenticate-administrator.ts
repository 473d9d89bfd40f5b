import { UnauthenticatedError } from '../../errors.ts';
import { parseBasic } from '../../http/authorization.ts';
import { verifyPassword } from '../passwords.ts';
import type { Administrators } from '../ports.ts';

/** The role that an export takes. */
const administratorRole = 'ADMIN';

/** A user with the right password. */
export interface AuthenticatedUser {
  readonly username: string;
  /** Whether the user has the role ADMIN: without it the answer is 403, not 401. */
  readonly isAdministrator: boolean;
}

/**
 * Who calls an administrative endpoint, from the values of its `Authorization` headers.
 * @throws UnauthenticatedError for no, several, malformed or wrong credentials. Errors of the store pass.
 */
export async function authenticateAdministrator(
  authorization: readonly string[],
  administrators: Administrators,
): Promise<AuthenticatedUser> {
  const [value] = authorization;
  if (value === undefined || authorization.length > 1) {
    throw new UnauthenticatedError(
      'administrator credentials are missing or sent twice: send one Authorization: Basic',
    );
  }
  const { username, password } = parseBasic(value.trim());
  const user = await administrators.find(username);
  if (!(await verifyPassword(password, user?.passwordHash)) || !user) {
    throw new UnauthenticatedError('user name or password is wrong');
  }
  return { username: user.username, isAdministrator: user.roles.includes(administratorRole) };
}
