import { type CipherKey, createCipheriv, createDecipheriv } from 'node:crypto';
import { release } from '../common/memory.ts';
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
  release(ciphertext);
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
