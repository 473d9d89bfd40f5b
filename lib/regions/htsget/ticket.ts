import type { DataFormat } from '../formats.ts';
import type { FileHead } from '../head/file-head.ts';
import { wholeFile } from '../head/head.ts';
import type { RegionIndex } from '../index/region-index.ts';
import type { VirtualRange } from '../places.ts';
import { virtualRangesOf } from '../select.ts';
import type { AskedTicket } from './request.ts';

/** One piece of the answer. The pieces of all URLs, joined in their order, are a file. */
export interface TicketUrl {
  readonly url: string;
  /** Absent for `data:` alone. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the piece is the file's header or its records. Absent in the encrypted form, where they are one container. */
  readonly class?: 'header' | 'body';
}

/** The document of a ticket. */
export function ticketDocument(format: DataFormat, urls: readonly TicketUrl[]) {
  return { htsget: { format, urls } };
}

/** Bytes as a URL, without a media type: the clients of the field ignore it, and some take only this form. */
export function dataUrl(bytes: Uint8Array): string {
  return `data:;base64,${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')}`;
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
  return whole.start.block === whole.end.block && whole.start.within === whole.end.within ? [] : [whole];
}
