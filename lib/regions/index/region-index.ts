import type { FileHead } from '../head/file-head.ts';
import type { VirtualRange } from '../places.ts';

/** Positions [start, end) of a reference, from 0. */
export interface Interval {
  readonly start: number;
  readonly end: number;
}

/** Where the records of a region lie, out of any kind of index. */
export interface RegionIndex {
  /** Bytes of memory that the index holds. */
  readonly memoryBytes: number;
  /** Names of references by number, in indexes that hold them (Tabix, and CSI of text files). */
  readonly names?: readonly string[];
  /** Places with all records of the reference that overlap the intervals, which are sorted and disjoint. */
  chunksOf(reference: number, intervals: readonly Interval[], head: FileHead): Iterable<VirtualRange>;
  /** Places with all reads that have no reference. */
  unplaced(head: FileHead): Iterable<VirtualRange>;
  /** Calls `visit` for every place at which, by the index, a record starts or the records end; in no order. */
  eachPlace(visit: (block: number, within: number) => void): void;
  /** Whether {@link eachPlace} names every block, as a CRAI names every container. */
  readonly namesAllBlocks: boolean;
}
