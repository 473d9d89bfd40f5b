import type { FileHead } from '../head/file-head.ts';
import type { VirtualRange } from '../virtual-offsets.ts';

/** Positions [start, end) of a reference, from 0. */
export interface Interval {
  readonly start: number;
  readonly end: number;
}

/** What one request wants of an index. */
export interface Wanted {
  /** By the number of a reference: positions, sorted and disjoint. */
  readonly intervals: ReadonlyMap<number, readonly Interval[]>;
  /** Whether reads that have no reference are wanted. */
  readonly unplaced: boolean;
}

/** Where the records of regions lie, out of any kind of index. */
export interface RegionIndex {
  /** Bytes of memory that the index holds. */
  readonly memoryBytes: number;
  /** Names of references by number, in indexes that hold them (Tabix, and CSI of text files). */
  readonly names?: readonly string[];
  /** Places with all records that are wanted, in no order. Takes one pass over the index, however much is wanted. */
  rangesOf(wanted: Wanted, head: FileHead): Iterable<VirtualRange>;
  /** Calls `visit` for every place at which, by the index, a record starts or the records end; in no order. */
  eachPlace(visit: (block: number, within: number) => void): void;
  /** Whether {@link eachPlace} names every block, as a CRAI names every container. */
  readonly namesAllBlocks: boolean;
}
