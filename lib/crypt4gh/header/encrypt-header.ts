import { asBuffer, expectLength, expectSome, type Random, systemRandom, wipe } from '../bytes.ts';
import { importPrivateKey, keyBytes } from '../keys/x25519.ts';
import { nonceBytes } from '../sizes.ts';
import { serializeHeader } from './header.ts';
import { sealingKey, sealPackets } from './packets.ts';
import { encodePayloads, type Payload } from './payloads.ts';

/**
 * The recipients, each once: a second copy of the packets would give its reader a second edit list, which makes the
 * file unreadable.
 *
 * @throws RangeError when there is no recipient or a key is not 32 bytes.
 */
export function distinctRecipients(recipients: readonly Uint8Array[]): readonly Uint8Array[] {
  expectSome(recipients, 'recipient');
  for (const recipient of recipients) expectLength(recipient, keyBytes, "a recipient's public key");
  return [...new Map(recipients.map((recipient) => [asBuffer(recipient).toString('hex'), recipient])).values()];
}

/**
 * A header with these payloads for every recipient, from a sender key made for it alone: so the nonces, random too,
 * cannot meet another header's (Crypt4GH § 3.3.1, § 5.3).
 *
 * @param more packets that come after these, unchanged.
 */
export function encryptPayloads(
  payloads: readonly Payload[],
  recipients: readonly Uint8Array[],
  random: Random,
  more: readonly Uint8Array[] = [],
): Buffer {
  return serializeHeader([...sealPayloads(payloads, distinctRecipients(recipients), random), ...more]);
}

/**
 * The packets with these payloads for each of the recipients.
 *
 * @param senderKey raw private key of the writer; default: one of their own.
 */
export function sealPayloads(
  payloads: readonly Payload[],
  recipients: readonly Uint8Array[],
  random: Random,
  senderKey?: Uint8Array,
): readonly Buffer[] {
  if (senderKey !== undefined) expectLength(senderKey, keyBytes, "a sender's private key");
  const encoded = encodePayloads(payloads);
  const privateKey = senderKey === undefined ? random(keyBytes) : Uint8Array.from(senderKey);
  try {
    const sender = importPrivateKey(privateKey);
    return recipients.flatMap((recipient) =>
      sealPackets(encoded, sealingKey(sender, recipient), () => random(nonceBytes)),
    );
  } finally {
    wipe(privateKey, ...encoded);
  }
}

/**
 * A header that gives every recipient the same data keys and edit list (Crypt4GH § 2.2, § 3.2).
 *
 * @param options.dataKeys 32 bytes each; several when segments are under different ones.
 * @param options.editList bytes to skip and keep in turn; default: none, the whole plaintext.
 * @param options.recipients raw public keys, as from `parsePublicKey`.
 * @param options.senderKey raw private key of the writer: the recipients can then tell who wrote the header
 * (Crypt4GH § 3.3.1). Default: a new one, which proves nothing.
 * @param options.random default: the system's.
 * @throws UnusableKeyError `weak-public-key`; RangeError for empty lists, wrong lengths or a header beyond the limits.
 */
export function encryptHeader(options: {
  readonly dataKeys: readonly Uint8Array[];
  readonly editList?: readonly bigint[] | undefined;
  readonly recipients: readonly Uint8Array[];
  readonly senderKey?: Uint8Array | undefined;
  readonly random?: Random;
}): Uint8Array {
  const { dataKeys, editList, senderKey, random = systemRandom } = options;
  const recipients = distinctRecipients(options.recipients);
  expectSome(dataKeys, 'data key');
  const payloads: Payload[] = dataKeys.map((key) => ({ type: 'data-key', key }));
  if (editList !== undefined) payloads.push({ type: 'edit-list', lengths: editList });
  return serializeHeader(sealPayloads(payloads, recipients, random, senderKey));
}
