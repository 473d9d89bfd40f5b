import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import { wipe } from '../bytes.ts';
import { importPrivateKey } from '../keys/x25519.ts';
import { nonceBytes } from '../sizes.ts';
import { type SealingKey, sealingKey } from './packets.ts';
import { Recent } from './recent.ts';

/** Keeps these keys apart from anything else derived from the same secret; a change of the scheme changes it. */
const derivationLabel = 'data-out crypt4gh header v2';
/** What is derived; the first byte tells them apart. */
const purposes = { sender: Buffer.of(0), nonce: Buffer.of(1) };
const firstBlock = Buffer.of(1);
/** Recipients whose sender is kept ready. */
const maximumRemembered = 256;

/** Writes to one recipient. */
export interface DerivedSender {
  readonly key: SealingKey;
  /** The nonces of the packets of one header, by index. @param content all that the header says, and of which file */
  nonces(content: Uint8Array): (index: number) => Buffer;
}

/**
 * Senders that follow from a secret, one for each recipient (HKDF-SHA-256, RFC 5869), so that the same header for the same
 * recipient is the same bytes.
 *
 * A sender writes many headers, so its nonces must never meet. They are derived from all that is sealed under them:
 * other plaintext has another nonce, but for one chance in 2^96 a pair of headers, and equal plaintext gives equal bytes
 * (`docs/crypt4gh-performance.md`).
 */
class DerivedSenders {
  readonly #key: KeyObject;
  readonly #ready = new Recent<DerivedSender>(maximumRemembered);

  constructor(secret: Uint8Array) {
    // HKDF-Extract (RFC 5869 § 2.2).
    const key = createHmac('sha256', derivationLabel).update(secret).digest();
    this.#key = createSecretKey(key);
    wipe(key);
  }

  /** @throws UnusableKeyError `weak-public-key` when the recipient's key is of small order. */
  senderFor(recipient: Uint8Array): DerivedSender {
    return this.#ready.get(recipient, () => this.#derive(recipient));
  }

  #derive(recipient: Uint8Array): DerivedSender {
    const privateKey = this.#expand('sender', recipient);
    try {
      return {
        key: sealingKey(importPrivateKey(privateKey), recipient),
        nonces: (content) => {
          const base = this.#expand('nonce', recipient, content);
          return (index) => {
            const nonce = Buffer.from(base.subarray(0, nonceBytes));
            nonce.writeUInt32LE((nonce.readUInt32LE(8) ^ index) >>> 0, 8);
            return nonce;
          };
        },
      };
    } finally {
      wipe(privateKey);
    }
  }

  /** 32 bytes of HKDF-Expand (RFC 5869 § 2.3): its first block. */
  #expand(purpose: keyof typeof purposes, ...parts: readonly Uint8Array[]): Buffer {
    const info = Buffer.concat([purposes[purpose], ...parts, firstBlock]);
    const block = createHmac('sha256', this.#key).update(info).digest();
    wipe(info);
    return block;
  }
}

interface Remembered {
  readonly copy: Buffer;
  readonly senders: DerivedSenders;
}
/** A service derives everything from one secret or a few. */
const remembered = new WeakMap<Uint8Array, Remembered>();

/** The senders of a secret: at least 32 bytes that nobody else has. */
export function derivedSenders(secret: Uint8Array): DerivedSenders {
  const known = remembered.get(secret);
  // The caller may have overwritten the array since.
  if (known !== undefined && known.copy.length === secret.length && timingSafeEqual(known.copy, secret)) {
    return known.senders;
  }
  const senders = new DerivedSenders(secret);
  remembered.set(secret, { copy: Buffer.from(secret), senders });
  return senders;
}
