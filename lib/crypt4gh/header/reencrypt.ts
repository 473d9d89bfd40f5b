import { expectSome, type Random, wipe } from '../bytes.ts';
import { keyBytes } from '../keys/encoding.ts';
import { derivedSenders } from './derived-sender.ts';
import { distinctRecipients, encryptPayloads } from './encrypt-header.ts';
import { serializeHeader } from './header.ts';
import { openHeader } from './open-header.ts';
import { sealPackets } from './packets.ts';
import { encodePayloads, type Payload } from './payloads.ts';

/**
 * The source of the sender key and the nonces of a rebuilt header (Crypt4GH § 5.2, § 5.3).
 *
 * With `secret`, the same header, recipient and context always give the same bytes, so a container that is staged twice is the
 * same container. `secret` has at least 32 bytes and is known to the archive alone, such as its private key; `context` names
 * the file. With `random`, every header is new.
 */
export type HeaderDerivation = { readonly secret: Uint8Array; readonly context: string } | { readonly random: Random };

/**
 * Opens a header and seals its payloads for other readers; the body stays as it is (Crypt4GH § 1.1, § 3.3).
 *
 * All data keys and the edit list are kept, in packet order. Padding is dropped. The sender is never a reader's key. The reader
 * keeps access only as one of the recipients; {@link addRecipients} lets the reader keep it in any case.
 *
 * @param options.foreignPackets what to do with packets that do not open: `drop` (default) or `keep`, which appends them
 * unchanged. Kept packets could give a recipient who had access before a second edit list, and make the file unreadable.
 * @param options.editList replaces the reader's edit list, over the whole plaintext; `null`: no edit list. Default: the
 * reader's.
 */
export function reencryptHeader(options: {
  readonly header: Uint8Array;
  readonly readerKeys: readonly Uint8Array[];
  readonly recipients: readonly Uint8Array[];
  readonly derivation: HeaderDerivation;
  readonly foreignPackets?: 'drop' | 'keep';
  readonly editList?: readonly bigint[] | null | undefined;
}): Uint8Array {
  const { header, readerKeys, derivation, foreignPackets = 'drop', editList } = options;
  expectSome(readerKeys, 'private key');
  const recipients = distinctRecipients(options.recipients);
  const opened = openHeader(header, readerKeys);
  try {
    const payloads = editList === undefined ? opened.payloads : withEditList(opened.payloads, editList);
    const kept = foreignPackets === 'keep' ? opened.foreignPackets : [];
    if ('random' in derivation) return encryptPayloads(payloads, recipients, derivation.random, kept);
    return serializeHeader([...derivedPackets(payloads, recipients, derivation), ...kept]);
  } finally {
    wipe(...opened.dataKeys);
  }
}

function derivedPackets(
  payloads: readonly Payload[],
  recipients: readonly Uint8Array[],
  { secret, context }: { readonly secret: Uint8Array; readonly context: string },
): Buffer[] {
  if (secret.length < keyBytes) throw new RangeError(`expected a secret of at least ${keyBytes} bytes`);
  const encoded = encodePayloads(payloads);
  const content = joined([Buffer.from(context, 'utf8'), ...encoded]);
  const senders = derivedSenders(secret);
  try {
    return recipients.flatMap((recipient) => {
      const { key, nonces } = senders.senderFor(recipient);
      return sealPackets(encoded, key, nonces(content));
    });
  } finally {
    wipe(content, ...encoded);
  }
}

function withEditList(payloads: readonly Payload[], lengths: readonly bigint[] | null): Payload[] {
  const dataKeys = payloads.filter(({ type }) => type === 'data-key');
  return lengths === null ? dataKeys : [...dataKeys, { type: 'edit-list', lengths }];
}

/** The parts, each with its length before it, so that no two lists run together into the same bytes. */
function joined(parts: readonly Buffer[]): Buffer {
  const pieces = parts.flatMap((part) => {
    const length = Buffer.alloc(4);
    length.writeUInt32LE(part.length);
    return [length, part];
  });
  return Buffer.concat(pieces);
}
