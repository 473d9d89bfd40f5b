import { pbkdf2, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { wipe } from '../bytes.ts';
import { PassphraseError, UnusableKeyError } from '../errors.ts';

/** Key derivation functions, by the names they have in Crypt4GH key files (key format). */
export type Kdf = 'scrypt' | 'bcrypt' | 'pbkdf2_hmac_sha256';

/** How a key file is protected: key derivation and its parameters, as stored. */
export interface Protection {
  readonly kdf: Kdf;
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

const scryptAsync = promisify<Uint8Array, Uint8Array, number, typeof scryptCost, Buffer>(scrypt);
const pbkdf2Async = promisify(pbkdf2);

export function isKdf(name: string): name is Kdf {
  return Object.hasOwn(maximumRounds, name);
}

/** Judges what needs no passphrase. @throws UnusableKeyError when the rounds are not usable or would take too long. */
export function checkProtection({ kdf, rounds }: Protection): void {
  if (kdf === 'scrypt') return;
  if (rounds < 1) throw new UnusableKeyError('invalid-key-format', `the key file has no rounds for ${kdf}`);
  if (rounds > maximumRounds[kdf]) {
    throw new UnusableKeyError('unsupported-kdf', `${rounds} rounds of ${kdf} are more than ${maximumRounds[kdf]}`);
  }
}

/**
 * `length` bytes from a passphrase, a string as UTF-8. `bcrypt` runs on the calling thread, a second for 100 rounds.
 *
 * @param passphrase read before the call returns: bytes may be overwritten from then on.
 * @param protection checked before.
 * @throws UnusableKeyError when the salt is not usable; PassphraseError for an empty passphrase that cannot be right.
 */
export async function deriveKey(
  passphrase: string | Uint8Array,
  protection: Protection,
  length: number,
): Promise<Uint8Array> {
  // Always a copy: Node makes one of a string that nobody can wipe, and bytes are the caller's.
  const secret = Buffer.from(passphrase);
  try {
    return await deriveFromBytes(secret, protection, length);
  } finally {
    wipe(secret);
  }
}

async function deriveFromBytes(secret: Buffer, { kdf, salt, rounds }: Protection, length: number): Promise<Uint8Array> {
  if (kdf === 'scrypt') return scryptAsync(secret, salt, length, scryptCost);
  if (kdf === 'pbkdf2_hmac_sha256') return pbkdf2Async(secret, salt, rounds, length, 'sha256');
  // Loaded on first use: few keys need it, and it is the largest part of this folder in a bundle.
  const { pbkdf } = await import('bcrypt-pbkdf');
  // This function takes no empty passphrase, so no key is protected by one.
  if (secret.length === 0) throw new PassphraseError('wrong-passphrase');
  const key = new Uint8Array(length);
  if (pbkdf(secret, secret.length, salt, salt.length, key, length, rounds) !== 0) {
    throw new UnusableKeyError('invalid-key-format', 'the key file has unusable bcrypt parameters');
  }
  return key;
}
