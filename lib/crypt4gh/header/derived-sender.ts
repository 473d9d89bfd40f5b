import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import { wipe } from '../bytes.ts';
import { importPrivateKey } from '../keys/x25519.ts';
import { nonceBytes } from '../sizes.ts';
import { type SealingKey, sealingKey } from './packets.ts';
import { RepeatedKeys } from './repeated-keys.ts';

/** Separates these keys from others derived from the same secret. It changes with the scheme. */
const derivationLabel = 'data-out crypt4gh header v2';
/** The first byte of the input to the derivation tells the purposes apart. */
const purposes = { sender: Buffer.of(0), nonce: Buffer.of(1) };
const firstBlock = Buffer.of(1);
/** Most recipients whose sender is kept ready. */
const maximumRemembered = 256;

/** A sender for one recipient. */
export interface DerivedSender {
  readonly key: SealingKey;
  /** Gives the nonce of each packet of one header, by index. @param content the payloads of the header and its file */
  nonces(content: Uint8Array): (index: number) => Buffer;
}

/**
 * Senders derived from a secret, one for each recipient (HKDF-SHA-256, RFC 5869). So the same header for the same recipient
 * always has the same bytes.
 *
 * A sender writes many headers, so a nonce must never be used for two plaintexts. Nonces are derived from all that is sealed
 * under them: another plaintext has another nonce, except with a chance of 2^-96 for each pair of headers, and equal plaintext
 * gives equal bytes (`docs/decisions/exports.md#the-same-export-writes-the-same-header`).
 */
class DerivedSenders {
  readonly #key: KeyObject;
  readonly #ready = new RepeatedKeys<DerivedSender>(maximumRemembered);

  constructor(secret: Uint8Array) {
    // HKDF-Extract (RFC 5869 § 2.2).
    const key = createHmac('sha256', derivationLabel).update(secret).digest();
    this.#key = createSecretKey(key);
    wipe(key);
  }

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
/** Senders by their secret: a service has only a few secrets. */
const remembered = new WeakMap<Uint8Array, Remembered>();

/** The senders of a secret of at least 32 bytes. */
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
