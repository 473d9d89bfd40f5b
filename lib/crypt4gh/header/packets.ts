import { createSecretKey, hash, type KeyObject } from 'node:crypto';
import { wipe } from '../bytes.ts';
import { UnusableKeyError } from '../errors.ts';
import { keyBytes } from '../keys/encoding.ts';
import { keyAgreement, type PreparedKey } from '../keys/x25519.ts';
import { sealInto, unseal } from '../sealed.ts';
import { segmentOverhead } from '../sizes.ts';
import { RepeatedKeys } from './repeated-keys.ts';

/** X25519 and ChaCha20-Poly1305 (RFC 8439): the only packet encryption (Crypt4GH § 3.3.1). */
const methodX25519Chacha20 = 0;
const methodBytes = 4;
/** Method and writer's public key; nonce, ciphertext and MAC follow (Crypt4GH § 3.2.1). */
const prefixBytes = methodBytes + keyBytes;

/** Bytes of the smallest packet with a data key, without its length field; type, method and key are sealed in it. */
const dataKeyPacketBytes = prefixBytes + segmentOverhead + 8 + keyBytes;

/** Whether an unopened packet may hold a data key, by its encryption method and its length. */
export function mayHoldDataKey(packet: Buffer): boolean {
  return packet.length >= dataKeyPacketBytes && packet.readUInt32LE(0) === methodX25519Chacha20;
}

/**
 * Public key of a packet's writer; `undefined` if no key can open the packet, because of another encryption method or because
 * it is too short.
 */
export function writerOf(packet: Buffer): Buffer | undefined {
  if (packet.length < prefixBytes + segmentOverhead) return undefined;
  if (packet.readUInt32LE(0) !== methodX25519Chacha20) return undefined;
  return packet.subarray(methodBytes, prefixBytes);
}

/**
 * The key of a packet: the first half of BLAKE2b-512 over the shared secret, the reader's public key and the writer's
 * (Crypt4GH § 3.3.2).
 */
function packetKey(shared: Uint8Array, reader: Uint8Array, writer: Uint8Array): KeyObject {
  const input = Buffer.concat([shared, reader, writer]);
  const digest = hash('blake2b512', input, 'buffer');
  try {
    // With raw bytes in its place, each cipher would cost ten times as much.
    return createSecretKey(digest.subarray(0, keyBytes));
  } finally {
    wipe(shared, input, digest);
  }
}

/** Most writers that are remembered for a reader's key. */
const maximumWriters = 512;
/** The key of a writer's packets; `undefined`: the writer's public key is of small order, so no packet opens. */
type PacketKeys = RepeatedKeys<{ readonly key: KeyObject | undefined }>;
const remembered = new WeakMap<KeyObject, PacketKeys>();

/**
 * Opens packets for one reader. It keeps the packet keys of recent writers: the headers of a submission mostly have one writer,
 * and a key agreement costs ten times a decryption.
 */
export class PacketOpener {
  readonly #reader: PreparedKey;
  readonly #keys: PacketKeys;

  constructor(reader: PreparedKey) {
    this.#reader = reader;
    this.#keys = remembered.get(reader.key) ?? new RepeatedKeys(maximumWriters);
    remembered.set(reader.key, this.#keys);
  }

  /**
   * The payload; `undefined` if the packet does not open for this reader. That is not an error: the packet may be for another reader
   * (Crypt4GH § 3.2.1), have another encryption method, be too short, or have a writer's key of small order.
   */
  open(packet: Buffer, sender?: Uint8Array): Buffer | undefined {
    const writer = writerOf(packet);
    if (writer === undefined || (sender !== undefined && !writer.equals(sender))) return undefined;
    const { key } = this.#keys.get(writer, () => this.#agree(writer));
    return key && unseal(packet.subarray(prefixBytes), key);
  }

  #agree(writer: Buffer): { readonly key: KeyObject | undefined } {
    const shared = keyAgreement(this.#reader.key, writer);
    return { key: shared && packetKey(shared, this.#reader.publicKey, writer) };
  }
}

/** The key for packets of one writer to one reader. */
export interface SealingKey {
  /** The writer's public key, which stands in each packet. */
  readonly writer: Uint8Array;
  readonly key: KeyObject;
}

export function sealingKey(writer: PreparedKey, reader: Uint8Array): SealingKey {
  const shared = keyAgreement(writer.key, reader);
  if (shared === undefined) throw new UnusableKeyError('weak-public-key', 'the public key is a point of small order');
  return { writer: writer.publicKey, key: packetKey(shared, reader, writer.publicKey) };
}

/**
 * Seals payloads to packets without their length field.
 *
 * @param nonce gives the nonce of the packet of that index. It must be new for each pair of writer and reader.
 */
export function sealPackets(
  payloads: readonly Uint8Array[],
  { writer, key }: SealingKey,
  nonce: (index: number) => Uint8Array,
): Buffer[] {
  return payloads.map((payload, index) => {
    const packet = Buffer.alloc(prefixBytes + segmentOverhead + payload.length);
    packet.writeUInt32LE(methodX25519Chacha20);
    packet.set(writer, methodBytes);
    sealInto(packet.subarray(prefixBytes), payload, key, nonce(index));
    return packet;
  });
}
