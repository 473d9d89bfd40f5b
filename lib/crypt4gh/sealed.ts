import { type CipherKey, createCipheriv, createDecipheriv } from 'node:crypto';
import { MAC_BYTES, NONCE_BYTES, SEGMENT_OVERHEAD } from './sizes.ts';

/** ChaCha20-IETF-Poly1305 (RFC 8439), without additional data: the one cipher of segments, packets and key files. */
const algorithm = 'chacha20-poly1305';
const options = { authTagLength: MAC_BYTES } as const;

/** Encrypts to nonce, ciphertext and MAC in one piece. A nonce must never be used twice with one key. */
export function seal(plaintext: Uint8Array, key: CipherKey, nonce: Uint8Array): Buffer {
  const cipher = createCipheriv(algorithm, key, nonce, options);
  const ciphertext = cipher.update(plaintext);
  cipher.final();
  const sealed = Buffer.allocUnsafeSlow(plaintext.length + SEGMENT_OVERHEAD);
  sealed.set(nonce, 0);
  sealed.set(ciphertext, NONCE_BYTES);
  sealed.set(cipher.getAuthTag(), NONCE_BYTES + ciphertext.length);
  return sealed;
}

/**
 * The reverse of {@link seal}; `undefined` when it does not authenticate, and then nothing of it is given out.
 *
 * @param sealed at least 28 bytes.
 */
export function unseal(sealed: Buffer, key: CipherKey): Buffer | undefined {
  const decipher = createDecipheriv(algorithm, key, sealed.subarray(0, NONCE_BYTES), options);
  decipher.setAuthTag(sealed.subarray(sealed.length - MAC_BYTES));
  const plaintext = decipher.update(sealed.subarray(NONCE_BYTES, sealed.length - MAC_BYTES));
  try {
    decipher.final();
    return plaintext;
  } catch {
    return undefined;
  }
}
