/** Bytes of a key, private or public (RFC 7748 § 5). */
export const keyBytes = 32;

/** DER before the 32 bytes of a public key (RFC 8410 § 4). */
export const spkiPrefix = Uint8Array.of(0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x6e, 0x03, 0x21, 0x00);

/**
 * Whether the key is a number below 2^255 - 19, as every result of X25519 is. X25519 accepts larger numbers instead of equal
 * smaller ones (RFC 7748 § 5). But the key of a Crypt4GH packet depends on the bytes, so its reader could not open it.
 */
export function isCanonical(publicKey: Uint8Array): boolean {
  const [lowest = 0, ...others] = publicKey;
  const highest = others.pop() ?? 0;
  if (highest !== 0x7f || others.some((byte) => byte !== 0xff)) return highest < 0x80;
  return lowest < 0xed;
}
