import { createHmac, randomBytes } from 'node:crypto';
import { Recent } from '../../common/recent.ts';
import type { ArchiveCredentialsPolicy } from '../../contract/environment.ts';
import { DataOutError } from '../../errors.ts';
import type { Clock } from '../archive/ports.ts';
import { parseBasic } from '../http/authorization.ts';
import { verifyPassword } from '../http/passwords.ts';
import { type HttpRequest, singleHeader } from '../http/request.ts';
import type { ArchiveUsers } from './ports.ts';

/** How long a right password is remembered. A withdrawn user is refused after this. */
const trustMilliseconds = 60_000;
const remembered = 1000;

/**
 * Resolves when a request may continue.
 *
 * @returns the user's name; `undefined` when no credentials were sent and none are required
 * @throws `unauthenticated` when credentials are missing though required, malformed or wrong
 */
export type CheckArchiveCredentials = (request: Pick<HttpRequest, 'headers'>) => Promise<string | undefined>;

/**
 * The central archive's Basic credentials on list and stream. A password hash is slow by design, and a client that
 * streams a thousand files sends the same credentials a thousand times. So a success is remembered for a minute, as an HMAC
 * under a key that only this process has. A failure is never remembered.
 */
export function archiveCredentials(
  users: ArchiveUsers,
  policy: ArchiveCredentialsPolicy,
  clock: Clock,
): CheckArchiveCredentials {
  const key = randomBytes(32);
  const limits = { most: remembered, milliseconds: trustMilliseconds, now: () => clock().getTime() };
  const trusted = new Recent<string>(limits);
  return async (request) => {
    const value = singleHeader(request, 'Authorization');
    if (value === undefined && policy === 'when-presented') return undefined;
    if (value === undefined)
      throw new DataOutError(
        'unauthenticated',
        "the central archive's credentials are missing: send Authorization: Basic",
      );
    const { username, password } = parseBasic(value);
    // A user name holds no colon, so the two cannot run together.
    const digest = createHmac('sha256', key).update(`${username}:${password}`).digest('base64');
    const known = await trusted.peek(digest);
    if (known !== undefined) return known;
    const user = await users.find(username);
    if (!(await verifyPassword(password, user?.passwordHash))) {
      throw new DataOutError('unauthenticated', "the central archive's user name or password is wrong");
    }
    return await trusted.set(digest, username);
  };
}
