import { UnusableKeyError } from '../errors.ts';
import { isCanonical, keyBytes, spkiPrefix } from './encoding.ts';
import { looksLikeSshPublicKey, parseSshPublicKey } from './openssh-public.ts';
import { decodeBase64, keyText, looksLikePem, parsePem } from './pem.ts';
import { looksLikePrivateKey } from './private-key-form.ts';

/** Label of the PEM of a public key (key format). */
export const publicKeyLabel = 'CRYPT4GH PUBLIC KEY';
const spkiLabel = 'PUBLIC KEY';

/**
 * The 32 bytes of a public key in any form that {@link parsePublicKey} takes. The number that they are is not checked. This file
 * and its imports also run in a browser.
 */
export function publicKeyBytes(input: string | Uint8Array): Uint8Array {
  return typeof input !== 'string' && input.length === keyBytes ? input : parseText(keyText(input));
}

/** A number that is not below 2^255 - 19 is not the public key of any private key. */
export function expectCanonical(publicKey: Uint8Array): void {
  if (isCanonical(publicKey)) return;
  throw new UnusableKeyError('invalid-key-format', 'no private key has this public key: it is not below 2^255 - 19');
}

function parseText(text: string): Uint8Array {
  if (looksLikePrivateKey(text)) {
    throw new UnusableKeyError('invalid-key-format', 'expected a public key, got a private one');
  }
  if (looksLikePem(text)) return parsePemText(text);
  if (looksLikeSshPublicKey(text)) return parseSshPublicKey(text);
  const bytes = decodeBase64(text);
  if (bytes === undefined || bytes.length === 0) {
    throw new UnusableKeyError('invalid-key-format', 'expected a public key as PEM, base64 or OpenSSH line');
  }
  if (bytes.length === keyBytes) return bytes;
  const inner = new TextDecoder().decode(bytes).trim();
  if (looksLikePem(inner)) return parsePemText(inner);
  if (isDerSequence(bytes)) return parseSpki(bytes);
  throw new UnusableKeyError('invalid-key-length', `expected a public key of ${keyBytes} bytes, got ${bytes.length}`);
}

function parsePemText(text: string): Uint8Array {
  const block = parsePem(text);
  if (block.label === spkiLabel) return parseSpki(block.bytes);
  if (block.label !== publicKeyLabel) {
    throw new UnusableKeyError('invalid-key-format', `expected PEM of a public key: ${publicKeyLabel} or ${spkiLabel}`);
  }
  if (block.bytes.length !== keyBytes) {
    throw new UnusableKeyError(
      'invalid-key-length',
      `expected a public key of ${keyBytes} bytes, got ${block.bytes.length}`,
    );
  }
  return block.bytes;
}

/** Whether the bytes are a DER sequence, as every SPKI is. The length byte tells it from text and raw keys. */
function isDerSequence(bytes: Uint8Array): boolean {
  return bytes[0] === 0x30 && (bytes[1] === bytes.length - 2 || (bytes[1] ?? 0) > 0x80);
}

function parseSpki(der: Uint8Array): Uint8Array {
  if (der.length === spkiPrefix.length + keyBytes && spkiPrefix.every((byte, index) => der[index] === byte)) {
    return der.subarray(spkiPrefix.length);
  }
  if (isDerSequence(der)) {
    throw new UnusableKeyError('unsupported-key-type', 'of the SPKI keys only X25519 can be used');
  }
  throw new UnusableKeyError('invalid-key-format', 'the public key is not SPKI');
}
