import { createPrivateKey, createPublicKey, diffieHellman, type KeyObject, timingSafeEqual } from 'node:crypto';
import { expectLength, type Random, systemRandom, wipe } from '../bytes.ts';
import { keyBytes, spkiPrefix } from './encoding.ts';

/** A raw X25519 key pair (RFC 7748 § 6.1). The private key is not clamped: X25519 itself does that. */
export interface KeyPair {
  readonly privateKey: Uint8Array;
  readonly publicKey: Uint8Array;
}

/** A private key prepared for use, with its public key. */
export interface PreparedKey {
  readonly key: KeyObject;
  readonly publicKey: Uint8Array;
}

/** DER before the 32 bytes of a private key (RFC 8410 § 7). */
const pkcs8Prefix = Buffer.from('302e020100300506032b656e04220420', 'hex');

interface Remembered extends PreparedKey {
  readonly copy: Buffer;
}
/** Prepared keys. To prepare a key costs more than a key agreement, and a service opens all headers with a few keys. */
const prepared = new WeakMap<Uint8Array, Remembered>();

/** Prepares a private key and remembers the result. */
export function preparePrivateKey(privateKey: Uint8Array): PreparedKey {
  const known = prepared.get(privateKey);
  // The caller may have overwritten the array since.
  if (known !== undefined && timingSafeEqual(known.copy, privateKey)) return known;
  const fresh = { ...importPrivateKey(privateKey), copy: Buffer.from(privateKey) };
  prepared.set(privateKey, fresh);
  return fresh;
}

/** As {@link preparePrivateKey}, for a key that is used once: it is not remembered. */
export function importPrivateKey(privateKey: Uint8Array): PreparedKey {
  expectLength(privateKey, keyBytes, 'a private key');
  const der = Buffer.concat([pkcs8Prefix, privateKey]);
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  wipe(der);
  return { key, publicKey: Buffer.from(createPublicKey(key).export({ format: 'jwk' }).x ?? '', 'base64url') };
}

/** The public key of a private one: X25519(private, 9) (RFC 7748 § 6.1). */
export function publicKeyOf(privateKey: Uint8Array): Uint8Array {
  return Uint8Array.from(preparePrivateKey(privateKey).publicKey);
}

/** A new X25519 key pair (RFC 7748 § 6.1). */
export function generateKeyPair(random: Random = systemRandom): KeyPair {
  const { buffer, byteOffset, length } = random(keyBytes);
  // The same memory: a second copy could not be wiped by the caller.
  const privateKey = new Uint8Array(buffer, byteOffset, length);
  return { privateKey, publicKey: new Uint8Array(importPrivateKey(privateKey).publicKey) };
}

/** As PEM: for every other form Node throws and catches errors inside, which costs more than the import itself. */
function pemOf(publicKey: Uint8Array): string {
  const der = Buffer.concat([spkiPrefix, publicKey]).toString('base64');
  return `-----BEGIN PUBLIC KEY-----\n${der}\n-----END PUBLIC KEY-----\n`;
}

let takesText: boolean | undefined;

/** Whether a key agreement takes PEM without an import, as newer versions of Node do. That saves a quarter of the time. */
function agreementTakesText(privateKey: KeyObject): boolean {
  try {
    // The base point: a key agreement with it never fails.
    diffieHellman({ privateKey, publicKey: pemOf(Uint8Array.of(9, ...new Uint8Array(keyBytes - 1))) });
    return true;
  } catch {
    return false;
  }
}

/**
 * X25519 of the two keys; `undefined` if the result is all zero. A point of small order gives that for every private key, so it
 * is not a secret (RFC 7748 § 6.1).
 */
export function keyAgreement(privateKey: KeyObject, publicKey: Uint8Array): Buffer | undefined {
  takesText ??= agreementTakesText(privateKey);
  const peer = takesText ? pemOf(publicKey) : createPublicKey(pemOf(publicKey));
  try {
    const shared = diffieHellman({ privateKey, publicKey: peer });
    // OpenSSL also refuses the all-zero result; this check does not rely on that.
    return shared.every((byte) => byte === 0) ? undefined : shared;
  } catch {
    return undefined;
  }
}

let probe: PreparedKey | undefined;

/** Whether the point is of small order: X25519 with it gives the all-zero result for every private key. */
export function isLowOrder(publicKey: Uint8Array): boolean {
  probe ??= preparePrivateKey(new Uint8Array(keyBytes).fill(1));
  return keyAgreement(probe.key, publicKey) === undefined;
}
