import { expectSome, type Random, wipe } from '../bytes.ts';
import { keyBytes } from '../keys/x25519.ts';
import { derivedSenders } from './derived-sender.ts';
import { distinctRecipients, encryptPayloads } from './encrypt-header.ts';
import { serializeHeader } from './header.ts';
import { openHeader } from './open-header.ts';
import { sealPackets } from './packets.ts';
import { encodePayloads, type Payload } from './payloads.ts';

/**
 * Where the sender key and the nonces of a rebuilt header come from (Crypt4GH § 5.2, § 5.3).
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
  expectSome(readerKeys, 'private key');
  const recipients = distinctRecipients(options.recipients);
  const opened = openHeader(header, readerKeys, sender === undefined ? {} : { sender });
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
