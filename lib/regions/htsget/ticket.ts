import { DataOutError } from '../../errors.ts';
import { mostBlockBytes } from '../blocks/bgzf.ts';
import { type DataFormat, endMarkers } from '../formats.ts';
import type { FileHead } from '../head/file-head.ts';
import { wholeFile } from '../head/head.ts';
import type { RegionIndex } from '../index/region-index.ts';
import { readRecords, splitter } from '../recompressed.ts';
import { virtualRangesOf } from '../select.ts';
import { compareOffsets, type VirtualRange } from '../virtual-offsets.ts';
import type { IndexedFile } from '../whole-blocks.ts';
import type { PartForm } from './part-name.ts';
import type { AskedTicket } from './request.ts';

/** Most bytes of a ticket that holds some of the answer itself, and of one that only names URLs. */
const inliningTicketBytes = 5_500_000;
const ticketBytes = 5_000_000;
/** Bytes that one URL of a part takes, with its headers: saves making tickets that are too long. */
const usualUrl = 400;

/** One piece of the answer. The pieces of all URLs, joined in their order, are a file. */
export interface TicketUrl {
  readonly url: string;
  /** Absent for `data:` alone. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the piece is the file's header or its records. Absent in the encrypted form, where they are one container. */
  readonly class?: 'header' | 'body';
}

/** A piece of the answer: bytes at hand, or a part to fetch. */
export type Piece = { readonly class?: TicketUrl['class'] } & (
  | { readonly bytes: Uint8Array }
  | { readonly form: PartForm }
);

export interface TicketOptions {
  readonly format: DataFormat;
  /** The URL of a part, with the headers to send. @param bytes of the whole answer, roughly */
  readonly urlOf: (form: PartForm, bytes: number) => Required<Pick<TicketUrl, 'url' | 'headers'>>;
  /** Bytes of one part, the usual size first. A larger one is for tickets that would be too long. */
  readonly partSizes: readonly number[];
}

/** Where the records lie that are asked for; without an index, those of the whole file. @throws as {@link virtualRangesOf} */
export function askedRanges(
  { headerOnly, regions }: Pick<AskedTicket, 'headerOnly' | 'regions'>,
  head: FileHead,
  index: RegionIndex | undefined,
): readonly VirtualRange[] {
  if (headerOnly) return [];
  if (regions && index) return virtualRangesOf(index, head, regions);
  const whole = wholeFile(head);
  return compareOffsets(whole.start, whole.end) < 0 ? [whole] : [];
}

/**
 * The document of a ticket for the header, the records of some ranges, and what ends a file. A ticket of few bytes holds them
 * itself, as {@link readRecords} reads them.
 *
 * @param options.inlinedBytes most bytes that a ticket holds itself, header included
 * @throws as {@link readRecords} and {@link ticketInParts}
 */
export async function plaintextTicket(
  { source, head, index }: IndexedFile,
  ranges: readonly VirtualRange[],
  options: TicketOptions & { readonly inlinedBytes: number },
): Promise<string> {
  const { format, bytes, end, size } = head;
  const { inlinedBytes } = options;
  const total = ranges.reduce((sum, range) => sum + range.end.block - range.start.block + mostBlockBytes, bytes.length);
  const header = { class: 'header', bytes } as const;
  const marker: Piece[] = ranges.at(-1)?.end.block === size ? [] : [{ class: 'body', bytes: endMarkers[format] }];
  if (total <= inlinedBytes) {
    const records = await readRecords(source, format, ranges);
    const bodies = records.map((record): Piece => ({ class: 'body', bytes: record }));
    const ticket = ticketOf([header, ...bodies, ...marker], total, options);
    if (ticket.length <= inliningTicketBytes) return ticket;
  }
  // An index can name a range for every other byte of the file.
  if (ranges.length * usualUrl > ticketBytes) throw tooLong();
  // A long header would leave no room for the URLs.
  const headerPart = { form: { kind: 'records', range: { start: { block: 0, within: 0 }, end } } } as const;
  const first: Piece = bytes.length <= inlinedBytes / 4 ? header : { class: 'header', ...headerPart };
  const split = splitter(ranges, index);
  const partsOf = (partBytes: number) =>
    split(partBytes).map((range): Piece => ({ class: 'body', form: { kind: 'records', range } }));
  return ticketInParts(total, (partBytes) => [first, ...partsOf(partBytes), ...marker], options);
}

/**
 * The document of a ticket with parts of the smallest size with which it is not too long.
 *
 * @param bytes of all pieces, roughly
 * @param cut the pieces, with parts of about so many bytes
 */
export function ticketInParts(
  bytes: number,
  cut: (partBytes: number) => readonly Piece[],
  options: TicketOptions,
): string {
  for (const size of options.partSizes) {
    if ((bytes / size) * usualUrl > ticketBytes) continue;
    const ticket = ticketOf(cut(size), bytes, options);
    if (ticket.length <= ticketBytes) return ticket;
  }
  throw tooLong();
}

function tooLong(): DataOutError {
  return new DataOutError('request_too_large', 'The ticket would be too long: ask for regions, or download the file.');
}

/** Pieces without a byte are left out. */
function ticketOf(pieces: readonly Piece[], bytes: number, { format, urlOf }: TicketOptions): string {
  const urls = pieces.flatMap((piece): TicketUrl[] => {
    const common = piece.class && { class: piece.class };
    if ('form' in piece) return [{ ...urlOf(piece.form, bytes), ...common }];
    return piece.bytes.length > 0 ? [{ url: dataUrl(piece.bytes), ...common }] : [];
  });
  return JSON.stringify({ htsget: { format, urls } });
}

/** Bytes as a URL, without a media type: the clients of the field ignore it, and some take only this form. */
function dataUrl(bytes: Uint8Array): string {
  return `data:;base64,${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')}`;
}
