import { ENCRYPTED_SEGMENT_BYTES } from '../../../crypt4gh/index.ts';
import { RequestTooLargeError } from '../../../errors.ts';
import { type DataFormat, dataUrl, type PartForm, type TicketUrl, ticketDocument } from '../../../regions/index.ts';

const mebibyte = 2 ** 20;

/** Most bytes that a ticket holds itself, header included, and most bytes of a ticket that holds any. */
export const inlinedBytes = 4 * mebibyte;
const inliningTicketBytes = 5_500_000;
/** Most bytes of a ticket of URLs. */
const ticketBytes = 5_000_000;
/** Bytes of one part, the usual size first. A larger one is for tickets that would be too long. */
const partSizes = [5, 10, 20, 40, 64].map((size) => size * mebibyte);

/** Bytes that one URL of a part takes at least, with its headers: saves making tickets that are too long. */
const shortestUrl = 400;

/** A piece of the answer: bytes at hand, or a part to fetch. */
export type Piece = { readonly class?: TicketUrl['class'] } & (
  | { readonly bytes: Uint8Array }
  | { readonly form: PartForm }
);

export interface TicketOptions {
  readonly format: DataFormat;
  /** The URL of a part, with the headers to send. */
  readonly urlOf: (form: PartForm) => Required<Pick<TicketUrl, 'url' | 'headers'>>;
}

/** The document of a ticket of these pieces. Those without a byte are left out. */
export function ticketOf(pieces: readonly Piece[], { format, urlOf }: TicketOptions): string {
  const urls = pieces.flatMap((piece): TicketUrl[] => {
    const common = piece.class && { class: piece.class };
    if ('form' in piece) return [{ ...urlOf(piece.form), ...common }];
    return piece.bytes.length > 0 ? [{ url: dataUrl(piece.bytes), ...common }] : [];
  });
  return JSON.stringify(ticketDocument(format, urls));
}

/** The same with everything inside; `undefined` when that would be too long. */
export function inlinedTicket(pieces: readonly Piece[], options: TicketOptions): string | undefined {
  const ticket = ticketOf(pieces, options);
  return ticket.length <= inliningTicketBytes ? ticket : undefined;
}

/**
 * The ticket with parts of the smallest size with which it is not too long.
 *
 * @param bytes of all pieces, roughly
 * @param cut the pieces, with parts of about so many bytes
 * @throws RequestTooLargeError when there is no such size: at 64 MiB, above some 300 GB
 */
export function ticketInParts(
  bytes: number,
  cut: (partBytes: number) => readonly Piece[],
  options: TicketOptions,
): string {
  for (const size of partSizes) {
    if ((bytes / size) * shortestUrl > ticketBytes) continue;
    const ticket = ticketOf(cut(size), options);
    if (ticket.length <= ticketBytes) return ticket;
  }
  throw new RequestTooLargeError('The ticket would be too long: ask for regions, or download the file.');
}

/** Ranges of the archived body as parts of about `partBytes`, which end at segments. */
export function segmentParts(
  ranges: readonly { readonly start: number; readonly end: number }[],
  reader: string,
  partBytes: number,
): Piece[] {
  const step = Math.floor(partBytes / ENCRYPTED_SEGMENT_BYTES) * ENCRYPTED_SEGMENT_BYTES;
  return ranges.flatMap(({ start, end }) => {
    const pieces: Piece[] = [];
    for (let from = start; from < end; from += step) {
      pieces.push({ form: { kind: 'segments', start: from, end: Math.min(from + step, end), reader } });
    }
    return pieces;
  });
}
