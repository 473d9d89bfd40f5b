import { keyBytes } from './encoding.ts';
import { decodeBase64, latin1 } from './pem.ts';

// This file and its imports also run in a browser.

/** PEM of any kind. A user may have pasted a part of it. */
const pemOfPrivateKey = /-----BEGIN [A-Z0-9 ]*PRIVATE KEY/;
/** How the bytes of a private key begin: Crypt4GH (key format), OpenSSH (PROTOCOL.key). */
const magics = ['c4gh-v1', 'openssh-key-v1'];

/**
 * Whether this is a private key file (key format; PROTOCOL.key; RFC 8410 § 7), the base64 of one, or what stands between its BEGIN
 * and END lines. For a program that expects a public key, and must not pass a private one on. 32 bytes without a form can be
 * either key: the answer is `false`.
 */
export function looksLikePrivateKey(input: string | Uint8Array): boolean {
  const text = (typeof input === 'string' ? input : latin1(input)).trim();
  if (pemOfPrivateKey.test(text)) return true;
  const bytes = decodeBase64(text);
  if (bytes === undefined) return false;
  const inner = latin1(bytes);
  const isKeyFile =
    bytes.length !== keyBytes &&
    (pemOfPrivateKey.test(inner) || magics.some((magic) => inner.startsWith(magic)) || isPkcs8(bytes));
  bytes.fill(0);
  return isKeyFile;
}

/** A sequence of any length that begins with version 0 or 1 (RFC 5958 § 2). A public key begins with an inner sequence instead. */
function isPkcs8([sequence, length = 0, ...rest]: Uint8Array): boolean {
  const [integer, one, version = 2] = rest.slice(length < 0x80 ? 0 : length & 0x7f, 6);
  return sequence === 0x30 && integer === 0x02 && one === 0x01 && version <= 1;
}
