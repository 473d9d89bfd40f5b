import { RegionsError } from '../errors.ts';
import type { FileHead } from '../head/file-head.ts';
import { compareOffsets, firstIndex, type VirtualOffset, type VirtualRange } from '../virtual-offsets.ts';
import { type Budget, Numbers, Offsets } from './offsets.ts';
import type { Interval, RegionIndex, Wanted } from './region-index.ts';

/** How positions are put into bins (CSIv1 § 2): 2^minShift positions in the smallest, eight times as many per level up. */
export interface Scheme {
  readonly minShift: number;
  /** Levels below the one bin that covers all. */
  readonly depth: number;
}

const beforeAll: VirtualOffset = { block: 0, within: 0 };
const afterAll: VirtualOffset = { block: Number.POSITIVE_INFINITY, within: 0 };

/** The bins, chunks and windows of BAI, CSI and Tabix (SAMv1 § 5.1), in flat lists. */
export class BinnedIndex implements RegionIndex {
  readonly namesAllBlocks = false;
  readonly names?: readonly string[];
  readonly #scheme: Scheme;
  readonly #budget: Budget;
  /** Number of the first bin of each level, from the one that covers all (SAMv1 § 5.3). */
  readonly #levels: readonly number[];
  readonly #binsOfReference: Numbers;
  readonly #windowsOfReference: Numbers;
  readonly #bins: Numbers;
  readonly #chunksOfBin: Numbers;
  readonly #lowestOfBin: Offsets;
  readonly #starts: Offsets;
  readonly #ends: Offsets;
  readonly #windows: Offsets;
  #lastWindow: [low: number, high: number] = [0, 0];
  #lastEnd: VirtualOffset | undefined;
  #chunksOfPseudoBin: number | undefined;
  #unplacedReads: number | undefined;

  constructor(scheme: Scheme, budget: Budget, names?: readonly string[]) {
    this.#scheme = scheme;
    this.#budget = budget;
    if (names) this.names = names;
    this.#levels = Array.from({ length: scheme.depth + 2 }, (_, level) => (8 ** level - 1) / 7);
    this.#binsOfReference = new Numbers(budget);
    this.#windowsOfReference = new Numbers(budget);
    this.#bins = new Numbers(budget);
    this.#chunksOfBin = new Numbers(budget);
    this.#lowestOfBin = new Offsets(budget);
    this.#starts = new Offsets(budget);
    this.#ends = new Offsets(budget);
    this.#windows = new Offsets(budget);
  }

  get memoryBytes(): number {
    return this.#budget.used;
  }

  /** Puts what is added from now on under the next reference. */
  startReference(): void {
    this.#binsOfReference.push(this.#bins.length);
    this.#windowsOfReference.push(this.#windows.length);
    this.#lastWindow = [0, 0];
  }

  /** Puts the chunks that are added from now on into a bin. `lowest` is its `loffset` (CSIv1 § 2), else 0. */
  startBin(bin: number, lowestLow: number, lowestHigh: number): void {
    const count = this.#levels.at(-1) ?? 0;
    // A bin behind all others holds the extent of the reference and two counts (SAMv1 § 5.2).
    this.#chunksOfPseudoBin = bin === count + 1 ? 0 : undefined;
    if (this.#chunksOfPseudoBin === 0) return;
    if (bin >= count) throw new RegionsError(`it has a bin ${bin}, above ${count - 1}`);
    this.#bins.push(bin);
    this.#chunksOfBin.push(this.#starts.length);
    this.#lowestOfBin.push(lowestLow, lowestHigh);
  }

  /** Adds a chunk to the bin, by the halves of its virtual offsets. */
  addChunk(startLow: number, startHigh: number, endLow: number, endHigh: number): void {
    const order = endHigh - startHigh || endLow - startLow;
    if (this.#chunksOfPseudoBin !== undefined) {
      if (this.#chunksOfPseudoBin++ > 0) {
        if (this.#chunksOfPseudoBin > 2) throw new RegionsError('its bin of metadata has more than two chunks');
        return;
      }
    } else if (order !== 0) {
      this.#starts.push(startLow, startHigh);
      this.#ends.push(endLow, endHigh);
    }
    if (order < 0) throw new RegionsError('it has a chunk that ends before it starts');
    const end = { block: endHigh * 2 ** 16 + (endLow >>> 16), within: endLow & 0xffff };
    if (!this.#lastEnd || compareOffsets(end, this.#lastEnd) > 0) this.#lastEnd = end;
  }

  /**
   * Adds the lowest offset of the next window of 16 kb (SAMv1 § 5.1.3). An empty window has 0. The one to its left is also right for it,
   * as its first record comes no later.
   */
  addWindow(low: number, high: number): void {
    if (low > 0 || high > 0) this.#lastWindow = [low, high];
    this.#windows.push(...this.#lastWindow);
  }

  /** Ends the last reference. @param unplacedReads reads without a reference; undefined if the index does not say. */
  finish(unplacedReads: number | undefined): void {
    this.startReference();
    this.#unplacedReads = unplacedReads;
  }

  *rangesOf({ intervals, unplaced }: Wanted, head: FileHead): Generator<VirtualRange> {
    for (const [reference, positions] of intervals) yield* this.#chunksOf(reference, positions);
    if (unplaced && this.#unplacedReads !== 0)
      yield { start: this.#lastEnd ?? head.end, end: { block: head.size, within: 0 } };
  }

  *#chunksOf(reference: number, intervals: readonly Interval[]): Generator<VirtualRange> {
    if (reference + 1 >= this.#binsOfReference.length) return;
    const bins = this.#filledBins(reference);
    const lowest = intervals.map(({ start }) => this.#lowestAt(reference, start, bins));
    const highest = intervals.map(({ end }) => bins.first(bins.behind((start) => start >= end)));
    for (let bin = this.#binsOfReference.at(reference); bin < this.#binsOfReference.at(reference + 1); bin++) {
      const { start, end } = this.#intervalOf(this.#bins.at(bin));
      const from = firstIndex(intervals, (interval) => interval.end > start);
      const to = firstIndex(intervals, (interval) => interval.start >= end);
      if (from >= to) continue;
      const least = lowest[from] ?? beforeAll;
      const most = highest[to - 1] ?? afterAll;
      for (let chunk = this.#chunksOfBin.at(bin); chunk < this.#chunksEnd(bin); chunk++) {
        const range = { start: later(this.#starts.at(chunk), least), end: earlier(this.#ends.at(chunk), most) };
        if (compareOffsets(range.start, range.end) < 0) yield range;
      }
    }
  }

  eachPlace(visit: (block: number, within: number) => void): void {
    for (const list of [this.#starts, this.#ends, this.#windows]) list.each(visit);
  }

  #chunksEnd(bin: number): number {
    return bin + 1 < this.#chunksOfBin.length ? this.#chunksOfBin.at(bin + 1) : this.#starts.length;
  }

  /** Positions of a bin (SAMv1 § 5.3, CSIv1 § 2). */
  #intervalOf(bin: number): Interval {
    const level = this.#levels.findLastIndex((first) => first <= bin);
    const width = 2 ** (this.#scheme.minShift + 3 * (this.#scheme.depth - level));
    const start = (bin - (this.#levels[level] ?? 0)) * width;
    return { start, end: start + width };
  }

  /** The bins of a reference that have chunks. htslib leaves only large ones where there is little data. */
  #filledBins(reference: number): FilledBins {
    const [from, to] = [this.#binsOfReference.at(reference), this.#binsOfReference.at(reference + 1)];
    const filled = new FilledBins(to - from);
    for (let bin = from; bin < to; bin++) {
      let first = afterAll;
      for (let chunk = this.#chunksOfBin.at(bin); chunk < this.#chunksEnd(bin); chunk++) {
        first = earlier(first, this.#starts.at(chunk));
      }
      if (first !== afterAll) filled.add(bin, this.#intervalOf(this.#bins.at(bin)).start, first);
    }
    filled.sort();
    return filled;
  }

  /**
   * A place before which no record overlaps `position` or what lies behind it: of its window (SAMv1 § 5.1.3), or of its
   * bin (CSIv1 § 2). Where there is no such bin, one to its left is also right.
   */
  #lowestAt(reference: number, position: number, bins: FilledBins): VirtualOffset {
    const first = this.#windowsOfReference.at(reference);
    const count = this.#windowsOfReference.at(reference + 1) - first;
    const window = Math.min(Math.floor(position / 2 ** this.#scheme.minShift), count - 1);
    const place = window < 0 ? beforeAll : this.#windows.at(first + window);
    if (compareOffsets(place, beforeAll) > 0) return place;
    const bin = bins.numberOf(bins.behind((start) => start > position) - 1);
    return bin === undefined ? beforeAll : this.#lowestOfBin.at(bin);
  }
}

function earlier(a: VirtualOffset, b: VirtualOffset): VirtualOffset {
  return compareOffsets(a, b) <= 0 ? a : b;
}

function later(a: VirtualOffset, b: VirtualOffset): VirtualOffset {
  return compareOffsets(a, b) >= 0 ? a : b;
}

/** The bins of one reference that have records, by position. In flat lists, because a hostile index has a million of them. */
class FilledBins {
  readonly #numbers: Uint32Array;
  readonly #starts: Float64Array;
  readonly #blocks: Float64Array;
  readonly #withins: Uint16Array;
  /** Positions in the lists above, in the order of the starts. */
  #order = new Uint32Array();
  #length = 0;

  constructor(most: number) {
    this.#numbers = new Uint32Array(most);
    this.#starts = new Float64Array(most);
    this.#blocks = new Float64Array(most);
    this.#withins = new Uint16Array(most);
  }

  /** @param number of the bin within the index. @param start the position with which it begins. @param first of its records */
  add(number: number, start: number, { block, within }: VirtualOffset): void {
    this.#numbers[this.#length] = number;
    this.#starts[this.#length] = start;
    this.#blocks[this.#length] = block;
    this.#withins[this.#length] = within;
    this.#length++;
  }

  /** Puts the bins in order, and makes the first record of each that of all that begin further on. */
  sort(): void {
    this.#order = Uint32Array.from({ length: this.#length }, (_, at) => at);
    this.#order.sort((a, b) => (this.#starts[a] ?? 0) - (this.#starts[b] ?? 0));
    let least = afterAll;
    for (const at of this.#order.toReversed()) {
      least = earlier(this.#firstAt(at), least);
      this.#blocks[at] = least.block;
      this.#withins[at] = least.within;
    }
  }

  /** How many bins lie before the first one whose start has a property that all behind it also have. */
  behind(has: (start: number) => boolean): number {
    return firstIndex(this.#order, (at) => has(this.#starts[at] ?? 0));
  }

  /** The first record of a bin, in order, and of those behind it. */
  first(index: number): VirtualOffset {
    const at = this.#order[index];
    return at === undefined ? afterAll : this.#firstAt(at);
  }

  /** The number within the index of a bin, in order. */
  numberOf(index: number): number | undefined {
    const at = this.#order[index];
    return at === undefined ? undefined : this.#numbers[at];
  }

  #firstAt(at: number): VirtualOffset {
    return { block: this.#blocks[at] ?? 0, within: this.#withins[at] ?? 0 };
  }
}
