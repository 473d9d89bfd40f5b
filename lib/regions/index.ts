/**
 * Regions of reads and variants: which bytes of a BAM, CRAM, VCF or BCF file hold them, by its index, and how a part of
 * the file becomes a stream that stock readers take; and what htsget 1.3 says of requests and tickets. Plain bytes in, plain
 * bytes and places out; no network, no cipher.
 */
export { RegionsError } from './errors.ts';
export { type DataFormat, endMarkers, fileSuffixes, formatOf, indexPathsOf } from './formats.ts';
export type { FileHead, Reference } from './head/file-head.ts';
export { readHead, wholeFile } from './head/head.ts';
export {
  type Datatype,
  htsgetErrorNames,
  htsgetFacts,
  htsgetType,
  servedFormat,
} from './htsget/names.ts';
export { type PartForm, parsePart, partName, type TicketPart } from './htsget/part-name.ts';
export { type AskedTicket, mostBodyBytes, postedTicket, queriedTicket } from './htsget/request.ts';
export {
  askedRanges,
  type Piece,
  plaintextTicket,
  type TicketOptions,
  ticketInParts,
} from './htsget/ticket.ts';
export { readIndex } from './index/read-index.ts';
export type { RegionIndex } from './index/region-index.ts';
export { openPart, type Part, splitter } from './recompressed.ts';
export { type Region, virtualRangesOf } from './select.ts';
export type { ByteRange, PlainSource, VirtualOffset, VirtualRange } from './virtual-offsets.ts';
export { type IndexedFile, wholeBlockRanges } from './whole-blocks.ts';
