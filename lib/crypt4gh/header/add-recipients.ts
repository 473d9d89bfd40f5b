import { asBuffer, expectSome, type Random, systemRandom, wipe } from '../bytes.ts';
import { distinctRecipients, sealPayloads } from './encrypt-header.ts';
import { parseHeader, serializeHeader } from './header.ts';
import { openHeader } from './open-header.ts';

/**
 * Gives more readers access: every packet that is there stays as it is, and the new recipients get what the reader has,
 * in packets after them (Crypt4GH § 3.2.1). Who else the header is for does not show, so a recipient who had access
 * before, other than the reader, gets a second copy: with an edit list that makes the file unreadable for that one.
 *
 * @param options.header the header; bytes after it are ignored.
 * @param options.readerKeys raw private keys to try.
 * @param options.recipients raw public keys. The reader's own is passed over.
 * @param options.sender raw public key: take only this writer's packets for the reader's.
 * @param options.random default: the system's.
 * @throws what {@link openHeader} throws; UnusableKeyError `weak-public-key`; RangeError for a wrong argument.
 */
export function addRecipients(options: {
  readonly header: Uint8Array;
  readonly readerKeys: readonly Uint8Array[];
  readonly recipients: readonly Uint8Array[];
  readonly sender?: Uint8Array;
  readonly random?: Random;
}): Uint8Array {
  const { header, readerKeys, sender, random = systemRandom } = options;
  expectSome(readerKeys, 'private key');
  const { payloads, dataKeys, reader } = openHeader(header, readerKeys, sender === undefined ? {} : { sender });
  try {
    const recipients = distinctRecipients(options.recipients).filter(
      (recipient) => !asBuffer(reader).equals(recipient),
    );
    return serializeHeader([...parseHeader(header).packets, ...sealPayloads(payloads, recipients, random)]);
  } finally {
    wipe(...dataKeys);
  }
}
