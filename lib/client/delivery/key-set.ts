import type { JWTVerifyGetKey } from 'jose';
import { ClientError } from '../errors.ts';

/** The public keys that a service signs its receipts with: a JWK set (RFC 7517 § 5). */
export interface ReceiptKeys {
  /** Ids of the usable keys. */
  readonly kids: ReadonlySet<string>;
  readonly find: JWTVerifyGetKey;
}

/**
 * Keys of a JWK set. Only keys for ES256 are used: `EC`, `P-256`, with a `kid`. Others, and private members, are ignored.
 *
 * @param source names the set in errors
 * @throws ClientError `usage` if it is no JWK set, has no usable key, or has two of one `kid`
 */
export async function parseKeySet(text: string, source: string): Promise<ReceiptKeys> {
  const keys = usableKeys(text, source);
  const kids = new Set(keys.map(({ kid }) => kid));
  if (kids.size === 0) throw refused(source, 'it has no key for ES256 with a key id');
  if (kids.size < keys.length) throw refused(source, 'two of its keys have the same id');
  const { createLocalJWKSet } = await import('jose');
  return { kids, find: createLocalJWKSet({ keys }) };
}

function usableKeys(text: string, source: string) {
  const members = (parsed(text, source) as { readonly keys?: unknown } | null)?.keys;
  if (!Array.isArray(members)) throw refused(source, 'it is no JWK set: there is no list "keys"');
  return members.flatMap((member: unknown) => {
    const { kty, crv, x, y, kid, alg = 'ES256', use = 'sig' } = (member ?? {}) as Readonly<Record<string, unknown>>;
    const isUsable = kty === 'EC' && crv === 'P-256' && alg === 'ES256' && use === 'sig';
    if (!isUsable || typeof kid !== 'string' || typeof x !== 'string' || typeof y !== 'string') return [];
    return [{ kty, crv, x, y, kid, alg }];
  });
}

function parsed(text: string, source: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw refused(source, 'it is not JSON', cause);
  }
}

function refused(source: string, why: string, cause?: unknown): ClientError {
  return new ClientError('usage', `${source}: these keys cannot be used: ${why}`, {
    remedy: 'Get the keys of the service from its /.well-known/jwks.json.',
    cause,
  });
}
