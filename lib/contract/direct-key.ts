import { isOutboxFileName } from './outbox-key.ts';

/**
 * Prefix of short-lived containers in the outbox bucket. A recipient's prefix has 64 hex characters, so the two never
 * overlap.
 */
export const directPrefix = 'direct/';

/** Days after which the lifecycle rule of the bucket may remove an object under {@link directPrefix}. */
export const directExpiryDays = 1;

/**
 * S3 key of a short-lived container: `direct/<digest>/<name>`.
 *
 * @param digest SHA-256 over all that decides the container's bytes, in lower-case hex: the same bytes, the same key.
 * @throws RangeError when `digest` is not a digest, or `name` is not one safe path segment.
 */
export function directKey(digest: string, name: string): string {
  const key = `${directPrefix}${digest}/${name}`;
  if (!parseDirectKey(key)) throw new RangeError('expected a digest in hex and a name of [A-Za-z0-9._-]');
  return key;
}

/** The reverse of {@link directKey}; `undefined` for a key that this service did not write. */
export function parseDirectKey(key: string): { digest: string; name: string } | undefined {
  const match = /^direct\/([0-9a-f]{64})\/([^/]+)$/.exec(key);
  const [, digest, name] = match ?? [];
  return digest && name && isOutboxFileName(name) ? { digest, name } : undefined;
}
