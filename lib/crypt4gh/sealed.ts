import { type CipherKey, createCipheriv, createDecipheriv } from 'node:crypto';
import { macBytes, nonceBytes, segmentOverhead } from './sizes.ts';

/** ChaCha20-IETF-Poly1305 (RFC 8439), without additional data: the one cipher of segments, packets and key files. */
const algorithm = 'chacha20-poly1305';
const options = { authTagLength: macBytes } as const;

/** Encrypts; returns nonce, ciphertext and MAC in one piece. A nonce must never be used twice with one key. */
export function seal(plaintext: Uint8Array, key: CipherKey, nonce: Uint8Array): Buffer {
  const sealed = Buffer.allocUnsafeSlow(plaintext.length + segmentOverhead);
  sealInto(sealed, plaintext, key, nonce);
  return sealed;
}

/** As {@link seal}, but writes to `target`; `plaintext` may lie in that memory. */
export function sealInto(target: Uint8Array, plaintext: Uint8Array, key: CipherKey, nonce: Uint8Array): void {
  const cipher = createCipheriv(algorithm, key, nonce, options);
  const ciphertext = cipher.update(plaintext);
  cipher.final();
  target.set(nonce, 0);
  target.set(ciphertext, nonceBytes);
  target.set(cipher.getAuthTag(), nonceBytes + ciphertext.length);
  giveBack(ciphertext);
}

/** Memory of fewer bytes is not given back: that would cost more than it saves. */
const releasedFromBytes = 4_096;

/**
 * Gives the memory of a large result of the cipher back at once. The garbage collector frees such memory late: a thread would
 * hold hundreds of unused segments, and each new one would be outside the cache.
 */
export function giveBack({ buffer, byteLength }: Buffer): void {
  const isAlone = buffer instanceof ArrayBuffer && buffer.byteLength === byteLength;
  if (isAlone && byteLength >= releasedFromBytes) buffer.transfer(0);
}

/**
 * The reverse of {@link seal}; `undefined` if it does not authenticate.
 *
 * @param sealed at least 28 bytes.
 */
export function unseal(sealed: Buffer, key: CipherKey): Buffer | undefined {
  const decipher = createDecipheriv(algorithm, key, sealed.subarray(0, nonceBytes), options);
  decipher.setAuthTag(sealed.subarray(sealed.length - macBytes));
  const plaintext = decipher.update(sealed.subarray(nonceBytes, sealed.length - macBytes));
  try {
    decipher.final();
    return plaintext;
  } catch {
    return undefined;
  }
}
