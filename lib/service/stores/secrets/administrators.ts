import { type AdministratorsDocument, administratorsDocument } from '../../../contract/secrets.ts';
import type { Administrator, Administrators } from '../../export/ports.ts';
import { CachedSecret, type SecretOptions } from './cached-secret.ts';

/** An administrator whose rights were taken away is out after this. */
const lifetimeMs = 60_000;

/** The administrators' secret; `administratorsDocument` has its form. */
export class SecretAdministrators implements Administrators {
  readonly #secret: CachedSecret<AdministratorsDocument, ReadonlyMap<string, Administrator>>;

  constructor(options: SecretOptions) {
    this.#secret = new CachedSecret(options, {
      shape: administratorsDocument,
      parse: ({ users }) =>
        new Map(
          users.map(({ username, password: passwordHash, roles }) => [username, { username, passwordHash, roles }]),
        ),
      lifetimeMs,
    });
  }

  /** The administrator of that name. One who is new is seen after at most ten seconds, any other change after a minute. */
  async find(username: string): Promise<Administrator | undefined> {
    const known = (await this.#secret.get()).get(username);
    return known ?? (await this.#secret.refreshed()).get(username);
  }
}
