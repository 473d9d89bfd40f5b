import { type DenyList, type DenyListDocument, denyListDocument, denyListOf } from '../../../contract/deny-list.ts';
import { TemporarilyUnavailableError } from '../../../errors.ts';
import { CachedSecret, type SecretOptions } from './cached-secret.ts';

const lifetimeMs = 60_000;
const servesMs = 5 * 60_000;

/** The secret with the tokens and subjects that are denied; `denyListDocument` has its form. */
export class SecretDenyList {
  readonly #secret: CachedSecret<DenyListDocument, DenyList>;

  constructor(options: SecretOptions) {
    this.#secret = new CachedSecret(options, { shape: denyListDocument, parse: denyListOf, lifetimeMs, servesMs });
  }

  /**
   * The list, a minute old at most. While it cannot be read, the last good one, five minutes old at most.
   *
   * @throws TemporarilyUnavailableError when there is no such list, whatever the reason: no token can be accepted
   *   without one
   */
  async current(): Promise<DenyList> {
    try {
      return await this.#secret.get();
    } catch (error) {
      if (error instanceof TemporarilyUnavailableError) throw error;
      throw new TemporarilyUnavailableError('the deny list cannot be read', { cause: error });
    }
  }
}
