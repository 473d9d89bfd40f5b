import { pbkdf2, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { wipe } from './bytes.ts';
import { PassphraseError, UnusableKeyError } from './errors.ts';

/** Key derivation functions of Crypt4GH key files, by the names they have there. */
export type Kdf = 'scrypt' | 'bcrypt' | 'pbkdf2_hmac_sha256';

/** Parameters stored in a key file. */
export interface KdfOptions {
  readonly salt: Uint8Array;
  /** Ignored by scrypt, whose cost is fixed. */
  readonly rounds: number;
}

/** The cost of scrypt is not stored in key files: it is always this. 16 MiB of memory. */
const scryptCost = { N: 2 ** 14, r: 8, p: 1 } as const;

/** Rounds beyond these would keep a reader busy for minutes: a hostile file, not a careful one. */
const maximumRounds: Readonly<Record<Kdf, number>> = {
  scrypt: Number.POSITIVE_INFINITY,
  bcrypt: 2_000,
  pbkdf2_hmac_sha256: 10_000_000,
};

const scryptAsync = promisify<string, Uint8Array, number, typeof scryptCost, Buffer>(scrypt);
const pbkdf2Async = promisify(pbkdf2);

export function isKdf(name: string): name is Kdf {
  return Object.hasOwn(maximumRounds, name);
}

/**
 * `length` bytes from a passphrase, taken as UTF-8. `bcrypt` runs on the calling thread, a second for 100 rounds.
 *
 * @throws UnusableKeyError when the parameters are not usable or would take too long; PassphraseError for an empty
 * passphrase that cannot be right.
 */
export async function deriveKey(
  kdf: Kdf,
  passphrase: string,
  options: KdfOptions,
  length: number,
): Promise<Uint8Array> {
  const { salt, rounds } = options;
  if (kdf === 'scrypt') return scryptAsync(passphrase, salt, length, scryptCost);
  if (rounds < 1) throw new UnusableKeyError('invalid-key-format', `the key file has no rounds for ${kdf}`);
  if (rounds > maximumRounds[kdf]) {
    throw new UnusableKeyError('unsupported-kdf', `${rounds} rounds of ${kdf} are more than ${maximumRounds[kdf]}`);
  }
  if (kdf === 'pbkdf2_hmac_sha256') return pbkdf2Async(passphrase, salt, rounds, length, 'sha256');
  // Loaded on first use: few keys need it, and it is the largest part of this folder in a bundle.
  const { pbkdf } = await import('bcrypt-pbkdf');
  const secret = Buffer.from(passphrase, 'utf8');
  // This function takes no empty passphrase, so no key is protected by one.
  if (secret.length === 0) throw new PassphraseError('wrong-passphrase');
  const key = new Uint8Array(length);
  const failed = pbkdf(secret, secret.length, salt, salt.length, key, length, rounds) !== 0;
  wipe(secret);
  if (failed) {
    throw new UnusableKeyError('invalid-key-format', 'the key file has unusable bcrypt parameters');
  }
  return key;
}
