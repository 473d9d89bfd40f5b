import { ENCRYPTED_SEGMENT_BYTES, planRearrangement, publicKeyFingerprint } from '../../../crypt4gh/index.ts';
import { DataOutError } from '../../../errors.ts';
import {
  type ByteRange,
  type IndexedFile,
  type Piece,
  type TicketOptions,
  ticketInParts,
  type VirtualRange,
  wholeBlockRanges,
} from '../../../regions/index.ts';
import { headerFor, storedEditList } from '../../archive/archived-file.ts';
import type { ArchiveKeys } from '../../archive/ports.ts';
import type { OpenedFile } from './plain-files.ts';

/** Most ranges that an edit list keeps: a reader in the field fails at more. */
const mostKept = 10;

/**
 * The document of a ticket whose pieces are one Crypt4GH container: a header for the recipient, and segments of the archived body
 * as they are. Of the body nothing is decrypted but what {@link wholeBlockRanges} reads.
 *
 * @param wanted what is kept of the file besides header and end marker; default: all of it
 * @param reader raw public key of whoever opens the container
 * @throws `unsupported_format` if the container cannot be cut near enough, or not in few enough pieces
 */
export async function encryptedTicket(
  { file, body: { bodySize } }: OpenedFile,
  wanted: { readonly file: IndexedFile; readonly ranges: readonly VirtualRange[] } | undefined,
  { recipient, archiveKeys }: { readonly recipient: Uint8Array; readonly archiveKeys: ArchiveKeys },
  options: TicketOptions,
): Promise<string> {
  const candidates = await archiveKeys.candidates(file.keyHash);
  const ranges = wanted && (await wholeBlockRanges(wanted.file, wanted.ranges, { most: mostKept }));
  const plan = ranges && planRearrangement({ ranges, editList: storedEditList(file, candidates), bodySize });
  if ((plan?.editList?.length ?? 0) > 2 * mostKept) {
    throw new DataOutError(
      'unsupported_format',
      'The archived file has an edit list of too many ranges: ask for plaintext.',
    );
  }
  const header = headerFor(file, candidates, recipient, plan && (plan.editList ?? null));
  const whole = [{ start: 0, end: bodySize }];
  const bodyRanges = plan?.bodyRanges.map(({ start, end = bodySize }) => ({ start, end })) ?? whole;
  const bytes = bodyRanges.reduce((sum, { start, end }) => sum + end - start, header.length);
  const reader = publicKeyFingerprint(recipient);
  return ticketInParts(
    bytes,
    (partBytes) => [{ bytes: header }, ...segmentParts(bodyRanges, reader, partBytes)],
    options,
  );
}

/** Ranges of the archived body as parts of about `partBytes`, which end at segments. @param reader fingerprint of a key */
export function segmentParts(ranges: readonly ByteRange[], reader: string, partBytes: number): Piece[] {
  const step = Math.floor(partBytes / ENCRYPTED_SEGMENT_BYTES) * ENCRYPTED_SEGMENT_BYTES;
  return ranges.flatMap(({ start, end }) =>
    Array.from({ length: Math.ceil((end - start) / step) }, (_, part): Piece => {
      const from = start + part * step;
      return { form: { kind: 'segments', start: from, end: Math.min(from + step, end), reader } };
    }),
  );
}
