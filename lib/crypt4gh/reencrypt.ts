import { createHash, createSecretKey, hkdfSync } from 'node:crypto';
import type { Random } from './bytes.ts';
import { distinctRecipients, encryptPayloads } from './encrypt-header.ts';
import { serializeHeader } from './header.ts';
import { openHeader } from './open-header.ts';
import { sealPackets } from './packets.ts';
import { encodePayload, type Payload } from './payloads.ts';
import { NONCE_BYTES } from './sizes.ts';
import { KEY_BYTES, preparePrivateKey } from './x25519.ts';

/** Keeps these keys apart from anything else derived from the same secret; a change of the scheme changes it. */
const derivationLabel = 'data-out crypt4gh header v1';

/**
 * Where the sender key and the nonces of a rebuilt header come from.
 *
 * With `secret` the result is a function of the arguments: the same header, recipient and context give the same bytes,
 * so a container that is staged twice is one container. `secret` is at least 32 bytes that nobody else has (the
 * archive's private key); `context` names the file. With `random` every header is new.
 */
export type HeaderDerivation = { readonly secret: Uint8Array; readonly context: string } | { readonly random: Random };

/**
 * Opens a header and seals what it says for other readers; the body stays as it is (Crypt4GH § 1.1, § 3.3).
 *
 * All data keys and the edit list are kept, in packet order. Padding is dropped. The sender is never a reader's key.
 * The reader itself keeps access only as one of the recipients; {@link addRecipients} leaves it what it has.
 *
 * @param options.header the header; bytes after it are ignored.
 * @param options.readerKeys raw private keys to try.
 * @param options.recipients raw public keys; each gets every packet.
 * @param options.sender raw public key: take only this writer's packets for the reader's.
 * @param options.foreignPackets what becomes of packets that do not open. Default `drop`: kept, they could give a
 * recipient who had access before a second edit list, which makes the file unreadable. `keep` appends them unchanged.
 * @param options.editList takes the place of the reader's edit list, over the whole plaintext; `null`: none. Default: the
 * one that is there.
 * @throws what {@link openHeader} throws; UnusableKeyError `weak-public-key`; RangeError for a wrong argument.
 */
export function reencryptHeader(options: {
  readonly header: Uint8Array;
  readonly readerKeys: readonly Uint8Array[];
  readonly recipients: readonly Uint8Array[];
  readonly derivation: HeaderDerivation;
  readonly sender?: Uint8Array;
  readonly foreignPackets?: 'drop' | 'keep';
  readonly editList?: readonly bigint[] | null | undefined;
}): Uint8Array {
  const { header, readerKeys, derivation, sender, foreignPackets = 'drop', editList } = options;
  const recipients = distinctRecipients(options.recipients);
  const opened = openHeader(header, readerKeys, sender === undefined ? {} : { sender });
  const payloads = editList === undefined ? opened.payloads : withEditList(opened.payloads, editList);
  const kept = foreignPackets === 'keep' ? opened.foreignPackets : [];
  if ('random' in derivation) return encryptPayloads(payloads, recipients, derivation.random, kept);

  if (derivation.secret.length < KEY_BYTES) throw new RangeError(`expected a secret of at least ${KEY_BYTES} bytes`);
  const encoded = payloads.map(encodePayload);
  const digest = digestOf([Buffer.from(derivation.context, 'utf8'), ...encoded]);
  const packets = recipients.flatMap((recipient) => {
    const { sender, nonce } = deriveSender(derivation.secret, recipient, digest);
    return sealPackets(encoded, recipient, preparePrivateKey(sender), nonce);
  });
  return serializeHeader([...packets, ...kept]);
}

function withEditList(payloads: readonly Payload[], lengths: readonly bigint[] | null): Payload[] {
  const dataKeys = payloads.filter(({ type }) => type === 'data-key');
  return lengths === null ? dataKeys : [...dataKeys, { type: 'edit-list', lengths }];
}

/** SHA-256 over the parts, each with its length before it, so that no two lists run together into the same bytes. */
function digestOf(parts: readonly Buffer[]): Buffer {
  const hash = createHash('sha256');
  const length = Buffer.alloc(4);
  for (const part of parts) {
    length.writeUInt32LE(part.length);
    hash.update(length).update(part);
  }
  return hash.digest();
}

/**
 * The sender key and nonces for one recipient (HKDF-SHA-256, RFC 5869). The digest covers all that is sealed under
 * them, so a different plaintext never meets the same key and nonce.
 */
function deriveSender(secret: Uint8Array, recipient: Uint8Array, digest: Buffer) {
  const info = Buffer.concat([recipient, digest]);
  const derived = Buffer.from(
    hkdfSync('sha256', createSecretKey(secret), derivationLabel, info, KEY_BYTES + NONCE_BYTES),
  );
  const base = derived.subarray(KEY_BYTES);
  return {
    sender: derived.subarray(0, KEY_BYTES),
    /** The packet's index folded into the derived nonce: different for every packet under this sender key. */
    nonce(index: number): Buffer {
      const nonce = Buffer.from(base);
      nonce.writeUInt32LE((nonce.readUInt32LE(8) ^ index) >>> 0, 8);
      return nonce;
    },
  };
}
