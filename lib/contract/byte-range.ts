/** Bytes [start, end) of a file, a body or a reply. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}
