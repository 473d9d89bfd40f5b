/** Bytes of r, and of s, for P-256. */
const integerBytes = 32;

/**
 * The 64 bytes of r and s that a JWS carries (RFC 7518 § 3.4), from the form in which KMS gives a P-256 signature: DER of
 * `SEQUENCE { r INTEGER, s INTEGER }` (RFC 3279 § 2.2.3).
 *
 * @throws TypeError for anything but the one DER encoding of two positive integers of at most 32 bytes
 */
export function joseSignature(der: Uint8Array): Uint8Array {
  const [tag, length] = der;
  // Two integers have at most 70 bytes, so the length is one byte.
  if (tag !== 0x30 || length !== der.length - 2 || length > 0x7f) throw malformed();
  const first = integerAt(der, 2);
  const second = integerAt(der, first.end);
  if (second.end !== der.length) throw malformed();
  const signature = new Uint8Array(2 * integerBytes);
  signature.set(first.value, integerBytes - first.value.length);
  signature.set(second.value, 2 * integerBytes - second.value.length);
  return signature;
}

/** The magnitude of the INTEGER at `start`, and where it ends. */
function integerAt(der: Uint8Array, start: number): { readonly value: Uint8Array; readonly end: number } {
  const [tag, length = 0] = der.subarray(start, start + 2);
  const content = der.subarray(start + 2, start + 2 + length);
  const [first = 0, second = 0] = content;
  if (tag !== 0x02 || length === 0 || content.length !== length) throw malformed();
  // Negative, or a zero byte that no sign bit asks for (X.690 § 8.3.2); zero itself is no part of a signature.
  if (first >= 0x80 || (first === 0 && second < 0x80)) throw malformed();
  const value = first === 0 ? content.subarray(1) : content;
  if (value.length > integerBytes) throw malformed();
  return { value, end: start + 2 + length };
}

function malformed(): TypeError {
  return new TypeError('KMS gave a signature that is not the DER of two integers of P-256');
}
