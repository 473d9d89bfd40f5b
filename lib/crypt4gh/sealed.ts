import { type CipherKey, createCipheriv, createDecipheriv } from 'node:crypto';
import { MAC_BYTES, NONCE_BYTES, SEGMENT_OVERHEAD } from './sizes.ts';

/** ChaCha20-IETF-Poly1305 (RFC 8439), without additional data: the one cipher of segments, packets and key files. */
const algorithm = 'chacha20-poly1305';
const options = { authTagLength: MAC_BYTES } as const;

/** Encrypts to nonce, ciphertext and MAC in one piece. A nonce must never be used twice with one key. */
export function seal(plaintext: Uint8Array, key: CipherKey, nonce: Uint8Array): Buffer {
  const sealed = Buffer.allocUnsafeSlow(plaintext.length + SEGMENT_OVERHEAD);
  sealInto(sealed, plaintext, key, nonce);
  return sealed;
}

/** The same into memory that is there; `plaintext` may lie in it. */
export function sealInto(target: Uint8Array, plaintext: Uint8Array, key: CipherKey, nonce: Uint8Array): void {
  const cipher = createCipheriv(algorithm, key, nonce, options);
  const ciphertext = cipher.update(plaintext);
  cipher.final();
  target.set(nonce, 0);
  target.set(ciphertext, NONCE_BYTES);
  target.set(cipher.getAuthTag(), NONCE_BYTES + ciphertext.length);
  release(ciphertext);
}

/** Below this, giving memory back costs more than it is worth. */
const RELEASED_FROM_BYTES = 4_096;

/**
 * Gives the memory of a large result of the cipher back at once. The garbage collector counts such memory too late: a
 * thread would hold hundreds of segments that nobody needs, and each new one would be cold.
 */
export function release({ buffer, byteLength }: Buffer): void {
  const isAlone = buffer instanceof ArrayBuffer && buffer.byteLength === byteLength;
  if (isAlone && byteLength >= RELEASED_FROM_BYTES) buffer.transfer(0);
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
