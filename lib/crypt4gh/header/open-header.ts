import { expectLength, wipe } from '../bytes.ts';
import { MalformedHeaderError, NoMatchingKeyError } from '../errors.ts';
import { keyBytes } from '../keys/encoding.ts';
import { preparePrivateKey } from '../keys/x25519.ts';
import { headerLimits, parseHeader } from './header.ts';
import { mayHoldDataKey, PacketOpener, writerOf } from './packets.ts';
import { decodePayload, type Payload } from './payloads.ts';

/** The contents of a header for one reader (Crypt4GH § 2.4, § 3.2). */
export interface OpenedHeader {
  /** Bytes of the header; the body begins there. */
  readonly length: number;
  /** Number of packets in the header, including those for other readers. */
  readonly packetCount: number;
  /** The payloads of the packets that opened, in their order. */
  readonly payloads: readonly Payload[];
  /** Data keys in packet order, at least one. A segment may be encrypted with any of them. */
  readonly dataKeys: readonly Uint8Array[];
  /** Bytes to skip and keep in turn; `undefined`: the whole plaintext is kept. */
  readonly editList: readonly bigint[] | undefined;
  /** Raw public key of the reader, whose private key opened the packets. */
  readonly reader: Uint8Array;
  /** The packets that did not open, as in the header but without their length field. */
  readonly foreignPackets: readonly Uint8Array[];
}

/**
 * Opens the header at the start of `header`; bytes after it are ignored (Crypt4GH § 3.2.1, § 3.3.3).
 *
 * The first of `privateKeys` that opens a packet is the reader's, and is used alone: each reader of a header has a copy of data
 * keys and edit list.
 *
 * @param privateKeys raw private keys. Without any, the error tells the most readers that the header can be for.
 * @param options.sender raw public key of the writer whose packets are accepted. Default: any writer's.
 */
export function openHeader(
  header: Uint8Array,
  privateKeys: readonly Uint8Array[],
  { sender }: { readonly sender?: Uint8Array | undefined } = {},
): OpenedHeader {
  const { packets, length } = parseHeader(header);
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

/** Whether a packet of any writer opens. Not tried if there are more writers than {@link limitWriters} allows. */
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

/** It would take too long to try the packets of more writers. */
function limitWriters(packets: readonly Buffer[]): void {
  if (packets.length <= headerLimits.writers) return;
  const writers = writersOf(packets);
  if (writers <= headerLimits.writers) return;
  throw new MalformedHeaderError('too-many-packets', `the packets of the header have ${writers} writers`);
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
    // The needed bytes have been copied.
    for (const payload of opened) wipe(payload);
  }
}

function dataKeysOf(payloads: readonly Payload[]): Uint8Array[] {
  return payloads.flatMap((payload) => (payload.type === 'data-key' ? [payload.key] : []));
}

function judge(payloads: readonly Payload[]): Content {
  const dataKeys = dataKeysOf(payloads);
  const editLists = payloads.flatMap((payload) => (payload.type === 'edit-list' ? [payload.lengths] : []));
  // Crypt4GH § 3.2.4: at most one for a reader. To take the first could give out bytes that the second one skips.
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
