import { createHash } from 'node:crypto';
import { expectLength } from '../bytes.ts';
import { UnusableKeyError } from '../errors.ts';
import { keyBytes } from './encoding.ts';
import { formatPem } from './pem.ts';
import { expectCanonical, publicKeyBytes, publicKeyLabel } from './public-key-form.ts';
import { isLowOrder } from './x25519.ts';

/**
 * Reads a public key in any common form: Crypt4GH PEM (with or without line breaks), base64 of that PEM, base64 of the 32
 * bytes, X25519 SPKI as PEM or as base64 of its DER (RFC 8410 § 4), an OpenSSH `ssh-ed25519` line (converted, RFC 7748 § 4.1),
 * or the 32 bytes themselves.
 */
export function parsePublicKey(input: string | Uint8Array): Uint8Array {
  const publicKey = publicKeyBytes(input);
  if (isLowOrder(publicKey)) {
    throw new UnusableKeyError('weak-public-key', 'the public key is a point of small order');
  }
  expectCanonical(publicKey);
  return Uint8Array.from(publicKey);
}

/** The key as Crypt4GH PEM (key format; PEM as in RFC 7468). */
export function formatPublicKey(publicKey: Uint8Array): string {
  expectLength(publicKey, keyBytes, 'a public key');
  return formatPem(publicKeyLabel, publicKey);
}

/** SHA-256 of the 32 bytes in lower-case hex (FIPS 180-4). Crypt4GH itself defines no fingerprint. */
export function publicKeyFingerprint(publicKey: Uint8Array): string {
  expectLength(publicKey, keyBytes, 'a public key');
  return createHash('sha256').update(publicKey).digest('hex');
}
