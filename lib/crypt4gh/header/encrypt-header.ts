import { asBuffer, expectLength, expectSome, type Random, systemRandom, wipe } from '../bytes.ts';
import { keyBytes } from '../keys/encoding.ts';
import { importPrivateKey } from '../keys/x25519.ts';
import { nonceBytes } from '../sizes.ts';
import { serializeHeader } from './header.ts';
import { sealingKey, sealPackets } from './packets.ts';
import { encodePayloads, type Payload } from './payloads.ts';

/**
 * The recipients, each once. A second copy of the packets would give a reader a second edit list, and make the file
 * unreadable.
 */
export function distinctRecipients(recipients: readonly Uint8Array[]): readonly Uint8Array[] {
  expectSome(recipients, 'recipient');
  for (const recipient of recipients) expectLength(recipient, keyBytes, "a recipient's public key");
  return [...new Map(recipients.map((recipient) => [asBuffer(recipient).toString('hex'), recipient])).values()];
}

/**
 * A header with these payloads for every recipient. It has its own sender key, so its random nonces cannot meet those of
 * another header (Crypt4GH § 3.3.1, § 5.3).
 */
export function encryptPayloads(
  payloads: readonly Payload[],
  recipients: readonly Uint8Array[],
  random: Random,
  more: readonly Uint8Array[] = [],
): Buffer {
  return serializeHeader([...sealPayloads(payloads, distinctRecipients(recipients), random), ...more]);
}

/** @param senderKey raw private key of the writer; default: a new key for these packets. */
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
 * @param options.dataKeys several if segments are encrypted with different keys.
 * @param options.editList bytes to skip and keep in turn; default: none, the whole plaintext is kept.
 * @param options.senderKey raw private key of the writer, by which recipients can check who wrote the header
 * (Crypt4GH § 3.3.1). Default: a new key, which proves nothing.
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
