import { decodeBase64, latin1 } from './pem.ts';

// This file and its imports also run in a browser.

/** PEM of any kind. A user may have pasted a part of it. */
const pemOfPrivateKey = /-----BEGIN [A-Z0-9 ]*PRIVATE KEY/;
/** How the bytes of a private key begin: Crypt4GH (key format), OpenSSH (PROTOCOL.key). */
const magics = ['c4gh-v1', 'openssh-key-v1'];

/**
 * Whether the text holds a private key file (key format; PROTOCOL.key; RFC 8410 § 7), or the base64 of one. The 32 bytes alone look
 * like those of a public key. Ask before a text goes anywhere: users mix up the two halves.
 */
export function looksLikePrivateKey(text: string): boolean {
  if (pemOfPrivateKey.test(text)) return true;
  const bytes = decodeBase64(text.trim());
  if (bytes === undefined) return false;
  const inner = latin1(bytes);
  return pemOfPrivateKey.test(inner) || magics.some((magic) => inner.startsWith(magic)) || isPkcs8(bytes);
}

/** A sequence that begins with a version (RFC 5958 § 2). A public key begins with an inner sequence instead. */
function isPkcs8(bytes: Uint8Array): boolean {
  return bytes[0] === 0x30 && bytes[2] === 0x02 && bytes[3] === 0x01;
}
