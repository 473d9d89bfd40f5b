import { createHmac, randomBytes } from 'node:crypto';
import type { ArchiveCredentialsPolicy } from '../../contract/environment.ts';
import { UnauthenticatedError } from '../../errors.ts';
import type { Clock } from '../archive/ports.ts';
import { type BasicCredentials, parseBasic } from '../http/authorization.ts';
import { verifyPassword } from '../http/passwords.ts';
import { type HttpRequest, singleHeader } from '../http/request.ts';
import type { ArchiveUsers } from './ports.ts';

/** How long a right password is remembered. A withdrawn user is refused after this. */
const trustMilliseconds = 60_000;
const remembered = 1000;

/**
 * The central archive's Basic credentials on list and stream. A password hash is slow by design, and a client that
 * streams a thousand files sends the same credentials a thousand times. So a success is remembered for a minute, as an HMAC
 * under a key that only this process has. A failure is never remembered.
 */
export class ArchiveCredentials {
  readonly #users: ArchiveUsers;
  readonly #policy: ArchiveCredentialsPolicy;
  readonly #clock: Clock;
  readonly #key = randomBytes(32);
  readonly #trustedUntil = new Map<string, number>();

  constructor(options: { users: ArchiveUsers; policy: ArchiveCredentialsPolicy; clock: Clock }) {
    this.#users = options.users;
    this.#policy = options.policy;
    this.#clock = options.clock;
  }

  /**
   * Resolves when the request may go on.
   * @returns the user's name; `undefined` when no credentials were sent and none are required
   * @throws UnauthenticatedError when credentials are missing though required, malformed or wrong; errors of the store
   * (TemporarilyUnavailableError) pass.
   */
  async check(request: Pick<HttpRequest, 'headers'>): Promise<string | undefined> {
    const value = singleHeader(request, 'Authorization');
    if (value === undefined && this.#policy === 'when-presented') return undefined;
    if (value === undefined)
      throw new UnauthenticatedError("the central archive's credentials are missing: send Authorization: Basic");
    const credentials = parseBasic(value);
    const digest = this.#digest(credentials);
    const now = this.#clock().getTime();
    if ((this.#trustedUntil.get(digest) ?? 0) > now) return credentials.username;
    const user = await this.#users.find(credentials.username);
    if (!(await verifyPassword(credentials.password, user?.passwordHash))) {
      throw new UnauthenticatedError("the central archive's user name or password is wrong");
    }
    this.#remember(digest, now + trustMilliseconds);
    return credentials.username;
  }

  #digest({ username, password }: BasicCredentials): string {
    // A user name holds no colon, so the two cannot run together.
    return createHmac('sha256', this.#key).update(`${username}:${password}`).digest('base64');
  }

  #remember(digest: string, until: number): void {
    this.#trustedUntil.delete(digest);
    this.#trustedUntil.set(digest, until);
    for (const oldest of this.#trustedUntil.keys()) {
      if (this.#trustedUntil.size <= remembered) break;
      this.#trustedUntil.delete(oldest);
    }
  }
}
