import { headerSize } from '../../crypt4gh/sizes.ts';
import { damaged } from '../../errors.ts';
import { plainSizeOf } from '../archive/archived-file.ts';
import type { ArchivedFile } from '../archive/ports.ts';
import type { Checksum, FileFacts } from './ports.ts';

/** Crypt4GH § 3.2. A header that is shorter has one packet, that of the data key. */
const shortestEdited = headerSize({ recipients: 1, editListLengths: 0 });
const withoutPackets = headerSize({ recipients: 0 });
const dataKeyPacket = headerSize({ recipients: 1 }) - withoutPackets;

export interface PlaintextDescription {
  readonly size: number;
  /** Digests of exactly these bytes. */
  readonly checksums: readonly Checksum[];
  readonly createdAt: Date;
}

/**
 * What `GET /files/{fileId}` serves, which is a part of the body's plaintext if the header has an edit list. Opens no header: the
 * length of a header shows whether it can have one. If it can, the catalogue says how large the part is, because
 * `data-out-ops archive add` and the sda pipeline record size and checksums of what a reader gets.
 *
 * @throws `archive_damaged` when the catalogue does not say it, or cannot be right
 */
export function describePlaintext(
  { header, archiveFileSize }: Pick<ArchivedFile, 'header' | 'archiveFileSize'>,
  { decryptedFileSize: recorded, plaintextChecksums, createdAt }: FileFacts,
): PlaintextDescription {
  if (!createdAt) throw damaged('the catalogue does not say when the file was entered');
  const whole = plainSizeOf(archiveFileSize);
  if (header.length < shortestEdited) {
    return { size: whole, checksums: (recorded ?? whole) === whole ? plaintextChecksums : [], createdAt };
  }
  // Packets of other recipients and data keys have one length. Packets of other lengths are edit lists; one of four lengths looks
  // like a data key.
  const isEdited = (header.length - withoutPackets) % dataKeyPacket !== 0;
  if (recorded === undefined || recorded > whole || (isEdited && recorded === whole)) {
    const said = `the catalogue says ${recorded ?? 'nothing'}, and its body has ${whole}`;
    throw damaged(`the header may have an edit list that decides the size of the plaintext: ${said}`);
  }
  return { size: recorded, checksums: plaintextChecksums, createdAt };
}
