import { keptRanges } from '../../../crypt4gh/index.ts';
import type { KeptRanges } from './disk/part-file.ts';

/** Bytes [from, to) of a piece of plaintext, and their position in the output. */
export interface Placed {
  readonly from: number;
  readonly to: number;
  readonly at: number;
}

interface Kept {
  readonly start: number;
  readonly end: number;
  readonly at: number;
}

/** Maps plaintext to its place in the output of an edit list (Crypt4GH § 4.2), for segments in any order. */
export class KeptPlaintext implements KeptRanges {
  /** In ascending order, in the plaintext and in the output. */
  readonly ranges: readonly Kept[];
  /** Bytes of the whole output. */
  readonly size: number;

  /**
   * @param plainSize bytes of the plaintext before the edit list
   * @param editList bytes to skip and keep in turn; `undefined`: everything is kept
   */
  constructor(plainSize: number, editList: readonly bigint[] | undefined) {
    const kept: Kept[] = [];
    const limit = BigInt(plainSize);
    let at = 0;
    for (const { start, end = limit } of keptRanges(editList ?? [])) {
      if (start >= limit) break;
      const range = { start: Number(start), end: Number(end < limit ? end : limit), at };
      kept.push(range);
      at += range.end - range.start;
    }
    this.ranges = kept;
    this.size = at;
  }

  /** The kept parts of `length` bytes of plaintext at `start`. */
  placed(start: number, length: number): Placed[] {
    const end = start + length;
    const placed: Placed[] = [];
    for (let index = this.#firstBehind(start); index < this.ranges.length; index += 1) {
      const range = this.ranges[index];
      if (range === undefined || range.start >= end) break;
      const from = Math.max(start, range.start);
      const to = Math.min(end, range.end);
      placed.push({ from: from - start, to: to - start, at: range.at + from - range.start });
    }
    return placed;
  }

  /** Index of the first range that ends behind a position, by bisection: an edit list can have very many ranges. */
  #firstBehind(position: number): number {
    let [low, high] = [0, this.ranges.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.ranges[middle]?.end ?? 0) <= position) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
