import { type DenyList, denyListDocument, denyListOf } from '../../../contract/deny-list.ts';
import { TemporarilyUnavailableError } from '../../../errors.ts';
import { CachedSecret, type SecretOptions } from './cached-secret.ts';

const lifetimeMs = 60_000;
const servesMs = 5 * 60_000;

/**
 * The tokens and subjects that are denied; `denyListDocument` has the form of their secret. The list is a minute old at most.
 * While it cannot be read, it is the last good one, five minutes old at most.
 *
 * @returns a function that throws TemporarilyUnavailableError when there is no such list, whatever the reason: no token can be
 * accepted without one
 */
export function secretDenyList(options: SecretOptions): () => Promise<DenyList> {
  const secret = new CachedSecret(options, { shape: denyListDocument, parse: denyListOf, lifetimeMs, servesMs });
  return async () => {
    try {
      return await secret.get();
    } catch (error) {
      if (error instanceof TemporarilyUnavailableError) throw error;
      throw new TemporarilyUnavailableError('the deny list cannot be read', { cause: error });
    }
  };
}
