import { archiveKeysDocument } from '../../contract/secrets.ts';
import { parsePrivateKey, publicKeyFingerprint, publicKeyOf } from '../../crypt4gh/index.ts';
import type { ArchiveKey, ArchiveKeys } from '../archive/ports.ts';
import { CachedSecret, MalformedSecretError, type SecretOptions } from './secrets.ts';

const lifetimeMs = 5 * 60_000;

/** An archive key with the hashes under which catalogues record it: `keyHashOf` it, and its fingerprint. */
interface HashedKey extends ArchiveKey {
  readonly hashes: readonly string[];
}

/**
 * The archive's key pairs; `archiveKeysDocument` has the form of their secret. The candidates for a hash that is still unknown
 * after the secret was read again are all keys: the hash may have a form that this service does not know.
 * `candidates` throws MalformedSecretError when the secret has no keys, or one that cannot be read.
 */
export function secretArchiveKeys(options: SecretOptions): ArchiveKeys {
  const { secretArn } = options;
  const secret = new CachedSecret(options, {
    shape: archiveKeysDocument,
    parse: async ({ keys }) => {
      if (keys.length === 0) throw new MalformedSecretError(`the secret ${secretArn} has no archive key yet`);
      return Promise.all(keys.map((key, index) => hashedKey(key, `${secretArn}: keys.${index}`)));
    },
    lifetimeMs,
  });
  /** Hashes for which the secret was read again. The catalogue has few: one for each key. */
  const soughtHashes = new Set<string>();
  return {
    async candidates(keyHash) {
      const keys = await secret.get();
      if (keyHash === undefined) return keys;
      const hash = keyHash.toLowerCase();
      const match = find(keys, hash);
      if (match) return [match];
      // The key may have been added since, even a second ago: a rotation must not wait for the cache.
      const isNew = !soughtHashes.has(hash);
      soughtHashes.add(hash);
      const refreshed = await (isNew ? secret.readAgain() : secret.refreshed());
      const added = find(refreshed, hash);
      return added ? [added] : refreshed;
    },
  };
}

function find(keys: readonly HashedKey[], hash: string): HashedKey | undefined {
  return keys.find((key) => key.hashes.includes(hash));
}

async function hashedKey(
  key: { privateKey: string; passphrase?: string | undefined },
  where: string,
): Promise<HashedKey> {
  let privateKey: Uint8Array;
  try {
    privateKey = await parsePrivateKey(key.privateKey, key.passphrase);
  } catch {
    // Without the cause: what a parser says of a private key does not belong into a log.
    throw new MalformedSecretError(`the secret ${where} is not a private key that this passphrase opens`);
  }
  const publicKey = publicKeyOf(privateKey);
  return { privateKey, publicKey, hashes: [keyHashOf(publicKey), publicKeyFingerprint(publicKey)] };
}

/** What `sda.files.key_hash` holds for headers to this public key, as the neicnordic pipelines write it: lower-case hex. */
export function keyHashOf(publicKey: Uint8Array): string {
  return Buffer.from(publicKey).toString('hex');
}
