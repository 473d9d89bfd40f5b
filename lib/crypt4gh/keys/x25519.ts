import { createPrivateKey, createPublicKey, diffieHellman, type KeyObject, timingSafeEqual } from 'node:crypto';
import { expectLength, type Random, systemRandom, wipe } from '../bytes.ts';

/** Bytes of a key, private or public (RFC 7748 § 5). */
export const keyBytes = 32;

/** An X25519 key pair, raw (RFC 7748 § 6.1). The private half is as stored: clamping happens inside X25519. */
export interface KeyPair {
  readonly privateKey: Uint8Array;
  readonly publicKey: Uint8Array;
}

/** A private key made ready for use, with the public key that belongs to it. */
export interface PreparedKey {
  readonly key: KeyObject;
  readonly publicKey: Uint8Array;
}

/** DER before the 32 bytes of a private key (RFC 8410 § 7), and of a public one (RFC 8410 § 4). */
const pkcs8Prefix = Buffer.from('302e020100300506032b656e04220420', 'hex');
const spkiPrefix = Buffer.from('302a300506032b656e032100', 'hex');

interface Remembered extends PreparedKey {
  readonly copy: Buffer;
}
/** Preparing costs more than the key agreement itself, and a service opens every header with the same few keys. */
const prepared = new WeakMap<Uint8Array, Remembered>();

/** @throws RangeError when the key is not 32 bytes. */
export function preparePrivateKey(privateKey: Uint8Array): PreparedKey {
  const known = prepared.get(privateKey);
  // The caller may have overwritten the array since.
  if (known !== undefined && timingSafeEqual(known.copy, privateKey)) return known;
  const fresh = { ...importPrivateKey(privateKey), copy: Buffer.from(privateKey) };
  prepared.set(privateKey, fresh);
  return fresh;
}

/** As {@link preparePrivateKey}, for a key that is used once: nothing is kept. @throws RangeError likewise. */
export function importPrivateKey(privateKey: Uint8Array): PreparedKey {
  expectLength(privateKey, keyBytes, 'a private key');
  const der = Buffer.concat([pkcs8Prefix, privateKey]);
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  wipe(der);
  return { key, publicKey: Buffer.from(createPublicKey(key).export({ format: 'jwk' }).x ?? '', 'base64url') };
}

/** The public key of a private one: X25519(private, 9) (RFC 7748 § 6.1). @throws RangeError when it is not 32 bytes. */
export function publicKeyOf(privateKey: Uint8Array): Uint8Array {
  return Uint8Array.from(preparePrivateKey(privateKey).publicKey);
}

/** A new X25519 key pair (RFC 7748 § 6.1). */
export function generateKeyPair(random: Random = systemRandom): KeyPair {
  const { buffer, byteOffset, length } = random(keyBytes);
  // The same memory: of a second copy nobody would know, to overwrite it.
  const privateKey = new Uint8Array(buffer, byteOffset, length);
  return { privateKey, publicKey: new Uint8Array(importPrivateKey(privateKey).publicKey) };
}

/** As text: for every other form Node first makes and catches errors, which costs more than the import itself. */
function pemOf(publicKey: Uint8Array): string {
  const der = Buffer.concat([spkiPrefix, publicKey]).toString('base64');
  return `-----BEGIN PUBLIC KEY-----\n${der}\n-----END PUBLIC KEY-----\n`;
}

let takesText: boolean | undefined;

/** Whether a key agreement takes keys that were not imported before, as Node does only lately. It saves a quarter. */
function agreementTakesText(privateKey: KeyObject): boolean {
  try {
    // The base point, with which no key agreement fails.
    diffieHellman({ privateKey, publicKey: pemOf(Uint8Array.of(9, ...new Uint8Array(keyBytes - 1))) });
    return true;
  } catch {
    return false;
  }
}

/**
 * X25519 of the two keys; `undefined` when the result is all zero, which a point of small order gives for every
 * private key and which therefore is no secret (RFC 7748 § 6.1).
 */
export function keyAgreement(privateKey: KeyObject, publicKey: Uint8Array): Buffer | undefined {
  takesText ??= agreementTakesText(privateKey);
  const peer = takesText ? pemOf(publicKey) : createPublicKey(pemOf(publicKey));
  try {
    const shared = diffieHellman({ privateKey, publicKey: peer });
    // OpenSSL refuses the all-zero result by itself; this does not rest on it.
    return shared.every((byte) => byte === 0) ? undefined : shared;
  } catch {
    return undefined;
  }
}

let probe: PreparedKey | undefined;

/** Whether the point is of small order: X25519 with it gives the all-zero result whatever the private key. */
export function isLowOrder(publicKey: Uint8Array): boolean {
  probe ??= preparePrivateKey(new Uint8Array(keyBytes).fill(1));
  return keyAgreement(probe.key, publicKey) === undefined;
}

/** 2^255 - 19, highest byte first. */
const prime = Buffer.concat([Buffer.of(0x7f), Buffer.alloc(keyBytes - 2, 0xff), Buffer.of(0xed)]);

/**
 * Whether the key is what X25519 gives: a number below 2^255 - 19. It takes others in their place (RFC 7748 § 5), but the
 * key of a Crypt4GH packet comes from the bytes, and nobody's own public key has those.
 */
export function isCanonical(publicKey: Uint8Array): boolean {
  return Buffer.from(publicKey).reverse().compare(prime) < 0;
}
