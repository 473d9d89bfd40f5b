import { Crypt4ghError, looksLikePrivateKey, parsePublicKey } from '../../crypt4gh/index.ts';

/** What a caller is told of a public key that cannot be used, after the name of its field. */
export function explainUnusablePublicKey(text: string): string {
  return looksLikePrivateKey(text) ? privateKey : unusable;
}

const unusable =
  'is not a usable X25519 public key: send Crypt4GH PEM, its base64, base64 of the 32 bytes, X25519 SPKI or ssh-ed25519';

const privateKey =
  'is a PRIVATE key: never send one; make a new pair of keys, because anyone who has seen this one can read the files that ' +
  'are encrypted for it, and send its public key';

/** The raw public key in any accepted form; `undefined` when it has none of them, or is a point of low order. */
export function usablePublicKey(text: string): Uint8Array | undefined {
  try {
    return parsePublicKey(text);
  } catch (error) {
    if (error instanceof Crypt4ghError) return undefined;
    throw error;
  }
}
