import { expectLength, wipe } from '../bytes.ts';
import { MalformedHeaderError, NoMatchingKeyError } from '../errors.ts';
import { keyBytes, preparePrivateKey } from '../keys/x25519.ts';
import { headerLimits, parseHeader } from './header.ts';
import { mayHoldDataKey, PacketOpener, writerOf } from './packets.ts';
import { decodePayload, type Payload } from './payloads.ts';

/** What a header says to one reader (Crypt4GH § 2.4, § 3.2). */
export interface OpenedHeader {
  /** Bytes of the header: where the body begins. */
  readonly length: number;
  /** Packets in the header, those for other readers included. */
  readonly packetCount: number;
  /** What the packets say that opened, in their order. */
  readonly payloads: readonly Payload[];
  /** Data keys in packet order, at least one. A segment may be under any of them. */
  readonly dataKeys: readonly Uint8Array[];
  /** Bytes to skip and keep in turn, or `undefined` for the whole plaintext. */
  readonly editList: readonly bigint[] | undefined;
  /** Raw public key of the reader: of the private key that opened the packets. */
  readonly reader: Uint8Array;
  /** The packets that did not open, as they stand in the header but without their length field. */
  readonly foreignPackets: readonly Uint8Array[];
}

/**
 * Opens the header at the start of `header`; what follows it is not looked at (Crypt4GH § 3.2.1, § 3.3.3).
 *
 * The first of `privateKeys` that opens any packet is the reader; the others are then not mixed in, since each reader
 * of a header has its own copy of data keys and edit list.
 *
 * @param privateKeys raw private keys to try. With none the error says for how many readers the header can be.
 * @param options.sender raw public key: packets of another writer count as not opening. Without it nothing is known
 * about who wrote the header.
 * @throws MalformedHeaderError, or NoMatchingKeyError when no packet opens; RangeError when a key is not 32 bytes.
 */
export function openHeader(
  header: Uint8Array,
  privateKeys: readonly Uint8Array[],
  options: { readonly sender?: Uint8Array } = {},
): OpenedHeader {
  const { packets, length } = parseHeader(header);
  const { sender } = options;
  if (sender === undefined) limitWriters(packets);
  else expectLength(sender, keyBytes, "a sender's public key");
  for (const privateKey of privateKeys) {
    const prepared = preparePrivateKey(privateKey);
    const opener = new PacketOpener(prepared);
    const opened: Buffer[] = [];
    const foreignPackets: Buffer[] = [];
    for (const packet of packets) {
      const payload = opener.open(packet, sender);
      if (payload === undefined) foreignPackets.push(packet);
      else opened.push(payload);
    }
    if (opened.length > 0) {
      const reader = new Uint8Array(prepared.publicKey);
      return { length, packetCount: packets.length, ...contentOf(opened), reader, foreignPackets };
    }
  }
  const isOfOtherSender = sender !== undefined && openForAnyone(packets, privateKeys);
  throw new NoMatchingKeyError(packets.length, packets.filter(mayHoldDataKey).length, isOfOtherSender);
}

/** Whether a packet of any writer opens. Not tried where the writers are more than {@link limitWriters} allows. */
function openForAnyone(packets: readonly Buffer[], privateKeys: readonly Uint8Array[]): boolean {
  if (writersOf(packets) > headerLimits.writers) return false;
  return privateKeys.some((privateKey) => {
    const opener = new PacketOpener(preparePrivateKey(privateKey));
    return packets.some((packet) => {
      const payload = opener.open(packet);
      if (payload !== undefined) wipe(payload);
      return payload !== undefined;
    });
  });
}

/** @throws MalformedHeaderError when trying all the packets would take too long. */
function limitWriters(packets: readonly Buffer[]): void {
  if (packets.length <= headerLimits.writers) return;
  const writers = writersOf(packets);
  if (writers <= headerLimits.writers) return;
  throw new MalformedHeaderError('too-many-packets', `the packets of the header are by ${writers} writers`);
}

function writersOf(packets: readonly Buffer[]): number {
  return new Set(packets.flatMap((packet) => writerOf(packet)?.toString('latin1') ?? [])).size;
}

type Content = Pick<OpenedHeader, 'payloads' | 'dataKeys' | 'editList'>;

function contentOf(opened: readonly Buffer[]): Content {
  const payloads: Payload[] = [];
  try {
    for (const payload of opened) payloads.push(decodePayload(payload));
    return judge(payloads);
  } catch (error) {
    for (const key of dataKeysOf(payloads)) wipe(key);
    throw error;
  } finally {
    // What is needed of them has been copied.
    for (const payload of opened) wipe(payload);
  }
}

function dataKeysOf(payloads: readonly Payload[]): Uint8Array[] {
  return payloads.flatMap((payload) => (payload.type === 'data-key' ? [payload.key] : []));
}

function judge(payloads: readonly Payload[]): Content {
  const dataKeys = dataKeysOf(payloads);
  const editLists = payloads.flatMap((payload) => (payload.type === 'edit-list' ? [payload.lengths] : []));
  // Crypt4GH § 3.2.4: at most one for a reader. Taking the first could give out what the second one skips.
  if (editLists.length > 1) {
    throw new MalformedHeaderError('multiple-edit-lists', 'the header has more than one edit list for this reader');
  }
  // Crypt4GH § 2.4: without a data key nothing can be read.
  if (dataKeys.length === 0) {
    throw new MalformedHeaderError('no-data-key', 'the header has no data key for this reader');
  }
  if (dataKeys.length > headerLimits.dataKeys) {
    throw new MalformedHeaderError('too-many-packets', `the header has ${dataKeys.length} data keys for this reader`);
  }
  return { payloads, dataKeys, editList: editLists[0] };
}
