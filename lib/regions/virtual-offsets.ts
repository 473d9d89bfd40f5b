import { RegionsError } from './errors.ts';

/** Random access to the bytes of a data file. */
export interface PlainSource {
  /** Bytes in the whole file. */
  readonly size: number;
  /** Gives exactly the bytes [start, end), which lie within the file. */
  read(start: number, end: number): Promise<Uint8Array>;
  /** The same in pieces, for ranges of any size. */
  stream(start: number, end: number): AsyncIterable<Uint8Array>;
}

/** Bytes [start, end) of the compressed file. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * A place between two bytes of a file's records (a virtual offset, SAMv1 § 4.1.1). In CRAM, `block` is the offset of a
 * container and `within` is 0.
 */
export interface VirtualOffset {
  /** Offset in the file at which the BGZF block or CRAM container starts. */
  readonly block: number;
  /** Bytes into the block once it is inflated, 0 to 65,535. */
  readonly within: number;
  /**
   * If true, nobody knows yet where a block starts: the place is the first start of a BGZF block at or after offset
   * `block`, or exactly this offset in CRAM. {@link openPart} finds it, the same one for both neighbours.
   */
  readonly nominal?: boolean;
}

/** The records from one place to another: [start, end). */
export interface VirtualRange {
  readonly start: VirtualOffset;
  readonly end: VirtualOffset;
}

/** Negative if `a` lies before `b`, 0 if they are the same place. */
export function compareOffsets(a: VirtualOffset, b: VirtualOffset): number {
  return a.block - b.block || a.within - b.within;
}

/** Ranges that are merged while they come, so that an index which names the same place a million times takes no more memory. */
export class MergedRanges {
  readonly #most: number;
  #ranges: VirtualRange[] = [];
  /** How many of them are merged. */
  #merged = 0;

  /** @param most ranges that may be left once they are merged */
  constructor(most: number) {
    this.#most = most;
  }

  /** @throws as {@link all} */
  add(range: VirtualRange): void {
    if (compareOffsets(range.start, range.end) >= 0) return;
    this.#ranges.push(range);
    if (this.#ranges.length > 2 * this.#merged + 2 ** 12) this.all();
  }

  /**
   * Sorted, disjoint ranges. Those that meet in one block become one, so that no block is sent twice.
   * @throws RegionsError if more are left than may be
   */
  all(): VirtualRange[] {
    const merged: VirtualRange[] = [];
    for (const range of this.#ranges.sort((a, b) => compareOffsets(a.start, b.start))) {
      const last = merged.at(-1);
      if (!last || range.start.block > last.end.block) merged.push(range);
      else if (compareOffsets(range.end, last.end) > 0)
        merged[merged.length - 1] = { start: last.start, end: range.end };
    }
    if (merged.length > this.#most) throw new RegionsError(`the records lie in more than ${this.#most} places`);
    this.#ranges = merged;
    this.#merged = merged.length;
    return merged;
  }
}

/** Index of the first element that has a property that all behind it also have; the length if none has it. */
export function firstIndex<Element>(sorted: ArrayLike<Element>, has: (element: Element) => boolean): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (has(sorted[middle] as Element)) high = middle;
    else low = middle + 1;
  }
  return low;
}
