import { pbkdf2, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { wipe } from '../bytes.ts';
import { PassphraseError, UnusableKeyError } from '../errors.ts';

/** Key derivation functions, by their names in Crypt4GH key files (key format). */
export type Kdf = 'scrypt' | 'bcrypt' | 'pbkdf2_hmac_sha256';

/** How a key file is protected: key derivation and its parameters, as stored. */
export interface Protection {
  readonly kdf: Kdf;
  readonly salt: Uint8Array;
  /** Ignored by scrypt, whose cost is fixed. */
  readonly rounds: number;
}

/** The cost of scrypt is not stored in key files; it is always this one, with 16 MiB of memory. */
const scryptCost = { N: 2 ** 14, r: 8, p: 1 } as const;

/** Most rounds that are accepted: more would keep a reader busy for minutes, so the file is hostile. */
const maximumRounds: Readonly<Record<Kdf, number>> = {
  scrypt: Number.POSITIVE_INFINITY,
  bcrypt: 2_000,
  pbkdf2_hmac_sha256: 10_000_000,
};

export function isKdf(name: string): name is Kdf {
  return Object.hasOwn(maximumRounds, name);
}

/** Checks the parameters, without the passphrase. */
export function checkProtection({ kdf, rounds }: Protection): void {
  if (kdf === 'scrypt') return;
  if (rounds < 1) throw new UnusableKeyError('invalid-key-format', `the key file has no rounds for ${kdf}`);
  if (rounds > maximumRounds[kdf]) {
    throw new UnusableKeyError('unsupported-kdf', `${rounds} rounds of ${kdf} are more than ${maximumRounds[kdf]}`);
  }
}

/**
 * Derives `length` bytes from a passphrase. `bcrypt` runs on the calling thread and takes a second for 100 rounds.
 *
 * @param passphrase a string is taken as UTF-8. It is read before the call returns: bytes may be overwritten from then on.
 */
export async function deriveKey(
  passphrase: string | Uint8Array,
  protection: Protection,
  length: number,
): Promise<Uint8Array> {
  // Always a copy that can be wiped: Node would make its own of a string, and bytes belong to the caller.
  const secret = Buffer.from(passphrase);
  try {
    return await deriveFromBytes(secret, protection, length);
  } finally {
    wipe(secret);
  }
}

async function deriveFromBytes(secret: Buffer, { kdf, salt, rounds }: Protection, length: number): Promise<Uint8Array> {
  // Here and not above, so that a program that derives no key does not load this part of Node.js.
  if (kdf === 'scrypt') {
    const derive = promisify<Uint8Array, Uint8Array, number, typeof scryptCost, Buffer>(scrypt);
    return derive(secret, salt, length, scryptCost);
  }
  if (kdf === 'pbkdf2_hmac_sha256') return promisify(pbkdf2)(secret, salt, rounds, length, 'sha256');
  // Loaded on first use: few keys need it, and it is the largest part of this library in a bundle.
  const { pbkdf } = await import('bcrypt-pbkdf');
  // The function takes no empty passphrase, so no key is protected by one.
  if (secret.length === 0) throw new PassphraseError('wrong-passphrase');
  const key = new Uint8Array(length);
  if (pbkdf(secret, secret.length, salt, salt.length, key, length, rounds) !== 0) {
    throw new UnusableKeyError('invalid-key-format', 'the key file has unusable bcrypt parameters');
  }
  return key;
}
