import { asBuffer, expectSome, systemRandom, wipe } from '../bytes.ts';
import { distinctRecipients, sealPayloads } from './encrypt-header.ts';
import { parseHeader, serializeHeader } from './header.ts';
import { openHeader } from './open-header.ts';

/**
 * Gives more readers access (Crypt4GH § 3.2.1). All packets stay as they are; packets with the reader's content for the new
 * recipients follow them. A header does not show its recipients, so another reader who had access before gets a second copy if
 * named again. If there is an edit list, that reader then has two, and cannot read the file. The own key of the reader whose key
 * is given is left out.
 */
export function addRecipients(options: {
  readonly header: Uint8Array;
  readonly readerKeys: readonly Uint8Array[];
  readonly recipients: readonly Uint8Array[];
}): Uint8Array {
  const { header, readerKeys } = options;
  expectSome(readerKeys, 'private key');
  const { payloads, dataKeys, reader } = openHeader(header, readerKeys);
  try {
    const recipients = distinctRecipients(options.recipients).filter(
      (recipient) => !asBuffer(reader).equals(recipient),
    );
    return serializeHeader([...parseHeader(header).packets, ...sealPayloads(payloads, recipients, systemRandom)]);
  } finally {
    wipe(...dataKeys);
  }
}
