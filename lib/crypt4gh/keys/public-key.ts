import { createHash } from 'node:crypto';
import { expectLength } from '../bytes.ts';
import { UnusableKeyError } from '../errors.ts';
import { looksLikeSshPublicKey, parseSshPublicKey } from './openssh.ts';
import { decodeBase64, formatPem, keyText, looksLikePem, parsePem } from './pem.ts';
import { looksLikePrivateKey } from './private-key.ts';
import { isCanonical, isLowOrder, keyBytes, spkiPrefix } from './x25519.ts';

const label = 'CRYPT4GH PUBLIC KEY';
const spkiLabel = 'PUBLIC KEY';

/**
 * Reads a public key in any common form: Crypt4GH PEM (with or without line breaks), base64 of that PEM, base64 of the 32
 * bytes, X25519 SPKI as PEM or as base64 of its DER (RFC 8410 § 4), an OpenSSH `ssh-ed25519` line (converted, RFC 7748 § 4.1),
 * or the 32 bytes themselves.
 *
 * @returns the 32 bytes.
 * @throws UnusableKeyError: `weak-public-key` for a point of small order, with which no secret can be shared;
 * `invalid-key-format` also for a number that is not the public key of any private key.
 */
export function parsePublicKey(input: string | Uint8Array): Uint8Array {
  const publicKey = typeof input !== 'string' && input.length === keyBytes ? input : parseText(keyText(input));
  if (isLowOrder(publicKey)) {
    throw new UnusableKeyError('weak-public-key', 'the public key is a point of small order');
  }
  if (!isCanonical(publicKey)) {
    throw new UnusableKeyError('invalid-key-format', 'no private key has this public key: it is not below 2^255 - 19');
  }
  return Uint8Array.from(publicKey);
}

function parseText(text: string): Uint8Array {
  if (looksLikePrivateKey(text)) {
    throw new UnusableKeyError('invalid-key-format', 'expected a public key, got a private one');
  }
  if (looksLikePem(text)) return parsePemText(text);
  if (looksLikeSshPublicKey(text)) return parseSshPublicKey(text);
  const bytes = decodeBase64(text);
  if (bytes === undefined || bytes.length === 0) {
    throw new UnusableKeyError('invalid-key-format', 'expected a public key as PEM, base64 or OpenSSH line');
  }
  if (bytes.length === keyBytes) return bytes;
  const inner = bytes.toString('utf8').trim();
  if (looksLikePem(inner)) return parsePemText(inner);
  if (isDerSequence(bytes)) return parseSpki(bytes);
  throw new UnusableKeyError('invalid-key-length', `expected a public key of ${keyBytes} bytes, got ${bytes.length}`);
}

function parsePemText(text: string): Uint8Array {
  const block = parsePem(text);
  if (block.label === spkiLabel) return parseSpki(block.bytes);
  if (block.label !== label) {
    throw new UnusableKeyError('invalid-key-format', `expected PEM of a public key: ${label} or ${spkiLabel}`);
  }
  if (block.bytes.length !== keyBytes) {
    throw new UnusableKeyError(
      'invalid-key-length',
      `expected a public key of ${keyBytes} bytes, got ${block.bytes.length}`,
    );
  }
  return block.bytes;
}

/** Whether the bytes are a DER sequence, as every SPKI is. The length byte tells it from text and raw keys. */
function isDerSequence(bytes: Buffer): boolean {
  return bytes[0] === 0x30 && (bytes[1] === bytes.length - 2 || (bytes[1] ?? 0) > 0x80);
}

function parseSpki(der: Buffer): Uint8Array {
  if (der.length === spkiPrefix.length + keyBytes && der.subarray(0, spkiPrefix.length).equals(spkiPrefix)) {
    return der.subarray(spkiPrefix.length);
  }
  if (isDerSequence(der)) {
    throw new UnusableKeyError('unsupported-key-type', 'of the SPKI keys only X25519 can be used');
  }
  throw new UnusableKeyError('invalid-key-format', 'the public key is not SPKI');
}

/** The key as Crypt4GH PEM (key format; PEM as in RFC 7468). @throws RangeError if it is not 32 bytes. */
export function formatPublicKey(publicKey: Uint8Array): string {
  expectLength(publicKey, keyBytes, 'a public key');
  return formatPem(label, publicKey);
}

/**
 * SHA-256 of the 32 bytes in lower-case hex (FIPS 180-4). Crypt4GH itself defines no fingerprint.
 *
 * @throws RangeError if the key is not 32 bytes.
 */
export function publicKeyFingerprint(publicKey: Uint8Array): string {
  expectLength(publicKey, keyBytes, 'a public key');
  return createHash('sha256').update(publicKey).digest('hex');
}
