import { asBuffer, expectSome, type Random, systemRandom, wipe } from '../bytes.ts';
import { distinctRecipients, sealPayloads } from './encrypt-header.ts';
import { parseHeader, serializeHeader } from './header.ts';
import { openHeader } from './open-header.ts';

/**
 * Gives more readers access (Crypt4GH § 3.2.1). All packets stay as they are; packets with the reader's content for the new
 * recipients follow them. A header does not show its recipients, so another reader who had access before gets a second copy if
 * named again. If there is an edit list, that reader then has two, and cannot read the file.
 *
 * @param options.header the header; bytes after it are ignored.
 * @param options.readerKeys raw private keys to try.
 * @param options.recipients raw public keys. The reader's own key is left out.
 * @param options.sender raw public key of the writer whose packets are accepted. Default: any writer's.
 * @param options.random default: the system's.
 * @throws errors of {@link openHeader}; UnusableKeyError `weak-public-key`; RangeError for a wrong argument.
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
