import { createSecretKey, hash, type KeyObject } from 'node:crypto';
import { UnusableKeyError } from './errors.ts';
import { seal, unseal } from './sealed.ts';
import { SEGMENT_OVERHEAD } from './sizes.ts';
import { KEY_BYTES, keyAgreement, type PreparedKey } from './x25519.ts';

/** X25519 and ChaCha20-Poly1305 (RFC 8439): the only packet encryption there is (Crypt4GH § 3.3.1). */
const METHOD_X25519_CHACHA20 = 0;
const METHOD_BYTES = 4;
/** Method and writer's public key; nonce, ciphertext and MAC follow (Crypt4GH § 3.2.2). */
const PREFIX_BYTES = METHOD_BYTES + KEY_BYTES;

/** Smallest packet with a data key, without its length field: type, method and key around which it is sealed. */
const DATA_KEY_PACKET_BYTES = PREFIX_BYTES + SEGMENT_OVERHEAD + 8 + KEY_BYTES;

/** Whether a packet, not opened, can be one with a data key: by its encryption method and its length. */
export function mayHoldDataKey(packet: Buffer): boolean {
  return packet.length >= DATA_KEY_PACKET_BYTES && packet.readUInt32LE(0) === METHOD_X25519_CHACHA20;
}

/**
 * The key of a packet: the first half of BLAKE2b-512 over the shared secret and both public keys, the reader's first
 * whoever computes it (Crypt4GH § 3.3.2).
 */
function packetKey(shared: Uint8Array, reader: Uint8Array, writer: Uint8Array): KeyObject {
  const digest = hash('blake2b512', Buffer.concat([shared, reader, writer]), 'buffer');
  // Raw bytes in its place would cost each cipher ten times as much.
  return createSecretKey(digest.subarray(0, KEY_BYTES));
}

/**
 * Opens the packets of one header for one reader. The packets of a header mostly have one writer, so its key is kept:
 * a key agreement costs ten times a decryption.
 */
export class PacketOpener {
  readonly #reader: PreparedKey;
  #writer: Buffer | undefined;
  #key: KeyObject | undefined;

  constructor(reader: PreparedKey) {
    this.#reader = reader;
  }

  /**
   * The payload; `undefined` when the packet does not open for this reader, which is no error: it may be for another
   * one (Crypt4GH § 3.2.1). That takes in other encryption methods, packets too short to hold anything and writers'
   * keys of small order.
   *
   * @param packet one packet without its length field.
   * @param sender when given, packets of any other writer count as not opening.
   */
  open(packet: Buffer, sender?: Uint8Array): Buffer | undefined {
    if (packet.length < PREFIX_BYTES + SEGMENT_OVERHEAD) return undefined;
    if (packet.readUInt32LE(0) !== METHOD_X25519_CHACHA20) return undefined;
    const writer = packet.subarray(METHOD_BYTES, PREFIX_BYTES);
    if (sender !== undefined && !writer.equals(sender)) return undefined;
    const key = this.#keyFor(writer);
    return key && unseal(packet.subarray(PREFIX_BYTES), key);
  }

  #keyFor(writer: Buffer): KeyObject | undefined {
    if (this.#writer?.equals(writer) !== true) {
      const shared = keyAgreement(this.#reader.key, writer);
      this.#writer = writer;
      this.#key = shared && packetKey(shared, this.#reader.publicKey, writer);
    }
    return this.#key;
  }
}

/**
 * Seals payloads for one reader; the packets come without their length field.
 *
 * @param nonce the nonce of the packet of that index. It must be new for each pair of writer and reader.
 * @throws UnusableKeyError `weak-public-key` when the reader's key is of small order.
 */
export function sealPackets(
  payloads: readonly Uint8Array[],
  reader: Uint8Array,
  writer: PreparedKey,
  nonce: (index: number) => Uint8Array,
): Buffer[] {
  const shared = keyAgreement(writer.key, reader);
  if (shared === undefined) throw new UnusableKeyError('weak-public-key', 'the public key is a point of small order');
  const key = packetKey(shared, reader, writer.publicKey);
  const method = Buffer.alloc(METHOD_BYTES);
  method.writeUInt32LE(METHOD_X25519_CHACHA20);
  return payloads.map((payload, index) => Buffer.concat([method, writer.publicKey, seal(payload, key, nonce(index))]));
}
