/**
 * Regions of reads and variants: which bytes of a BAM, CRAM, VCF or BCF file hold them, by its index, and how a part of
 * the file becomes a stream that stock readers take. Plain bytes in, plain bytes and places out; no network, no cipher.
 */
export {
  CannotCutError,
  IndexTooLargeError,
  LyingFileError,
  RegionIndexError,
  RegionsError,
  UnknownReferenceError,
} from './errors.ts';
export { type DataFormat, endMarkers, fileSuffixes, formatOf, indexPathsOf } from './formats.ts';
export type { FileHead, Reference } from './head/file-head.ts';
export { readHead, wholeFile } from './head/head.ts';
export { type IndexLimits, readIndex } from './index/read-index.ts';
export type { RegionIndex } from './index/region-index.ts';
export { type KeptOptions, keptRanges } from './kept.ts';
export { openPart, type Part, partsOf } from './parts.ts';
export type { ByteRange, Place, PlainSource, VirtualRange } from './places.ts';
export { type Region, virtualRangesOf } from './select.ts';
