import { RegionsError } from '../errors.ts';
import type { FileHead } from '../head/file-head.ts';
import { comparePlaces, firstIndex, type Place, type VirtualRange } from '../places.ts';
import { type Budget, Numbers, Offsets } from './offsets.ts';
import type { Interval, RegionIndex } from './region-index.ts';

/** How positions are put into bins (CSIv1 § 2): 2^minShift positions in the smallest, eight times as many per level up. */
export interface Scheme {
  readonly minShift: number;
  /** Levels below the one bin that covers all. */
  readonly depth: number;
}

const beforeAll: Place = { block: 0, within: 0 };
const afterAll: Place = { block: Number.POSITIVE_INFINITY, within: 0 };

/** A bin that has records. */
interface FilledBin {
  /** The position with which it begins. */
  readonly start: number;
  /** The first of its records, and of those in bins that begin further on. */
  readonly first: Place;
  /** The first record that overlaps it (`loffset`, CSIv1 § 2). */
  readonly lowest: Place;
}

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
  #lastEnd: Place | undefined;
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
    if (!this.#lastEnd || comparePlaces(end, this.#lastEnd) > 0) this.#lastEnd = end;
  }

  /** Adds the lowest offset of the next window of 16 kb (SAMv1 § 5.1.3). */
  addWindow(low: number, high: number): void {
    this.#windows.push(low, high);
  }

  /** Ends the last reference. @param unplacedReads reads without a reference; undefined if the index does not say. */
  finish(unplacedReads: number | undefined): void {
    this.startReference();
    this.#unplacedReads = unplacedReads;
  }

  *chunksOf(reference: number, intervals: readonly Interval[]): Generator<VirtualRange> {
    if (reference + 1 >= this.#binsOfReference.length) return;
    const bins = this.#filledBins(reference);
    const lowest = intervals.map(({ start }) => this.#lowestAt(reference, start, bins));
    const highest = intervals.map(({ end }) => bins[firstIndex(bins, (bin) => bin.start >= end)]?.first ?? afterAll);
    for (let bin = this.#binsOfReference.at(reference); bin < this.#binsOfReference.at(reference + 1); bin++) {
      const { start, end } = this.#intervalOf(this.#bins.at(bin));
      const from = firstIndex(intervals, (interval) => interval.end > start);
      const to = firstIndex(intervals, (interval) => interval.start >= end);
      if (from >= to) continue;
      const least = lowest[from] ?? beforeAll;
      const most = highest[to - 1] ?? afterAll;
      for (let chunk = this.#chunksOfBin.at(bin); chunk < this.#chunksEnd(bin); chunk++) {
        const range = { start: later(this.#starts.at(chunk), least), end: earlier(this.#ends.at(chunk), most) };
        if (comparePlaces(range.start, range.end) < 0) yield range;
      }
    }
  }

  *unplaced(head: FileHead): Generator<VirtualRange> {
    if (this.#unplacedReads !== 0) yield { start: this.#lastEnd ?? head.end, end: { block: head.size, within: 0 } };
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

  /** The bins of a reference that have chunks, by position. htslib leaves only large ones where there is little data. */
  #filledBins(reference: number): FilledBin[] {
    const filled: { start: number; first: Place; lowest: Place }[] = [];
    for (let bin = this.#binsOfReference.at(reference); bin < this.#binsOfReference.at(reference + 1); bin++) {
      let first = afterAll;
      for (let chunk = this.#chunksOfBin.at(bin); chunk < this.#chunksEnd(bin); chunk++) {
        first = earlier(first, this.#starts.at(chunk));
      }
      const { start } = this.#intervalOf(this.#bins.at(bin));
      if (first !== afterAll) filled.push({ start, first, lowest: this.#lowestOfBin.at(bin) });
    }
    filled.sort((a, b) => a.start - b.start);
    for (let at = filled.length - 2; at >= 0; at--) {
      const [bin, next] = [filled[at], filled[at + 1]];
      if (bin && next) bin.first = earlier(bin.first, next.first);
    }
    return filled;
  }

  /**
   * A place before which no record overlaps `position` or what lies behind it: of its window (SAMv1 § 5.1.3), or of its
   * bin (CSIv1 § 2). Where there is none, one to its left is also right, as its first record comes no later.
   */
  #lowestAt(reference: number, position: number, bins: readonly FilledBin[]): Place {
    const first = this.#windowsOfReference.at(reference);
    const count = this.#windowsOfReference.at(reference + 1) - first;
    for (let window = Math.min(Math.floor(position / 2 ** this.#scheme.minShift), count - 1); window >= 0; window--) {
      const place = this.#windows.at(first + window);
      if (comparePlaces(place, beforeAll) > 0) return place;
    }
    return bins[firstIndex(bins, (bin) => bin.start > position) - 1]?.lowest ?? beforeAll;
  }
}

function earlier(a: Place, b: Place): Place {
  return comparePlaces(a, b) <= 0 ? a : b;
}

function later(a: Place, b: Place): Place {
  return comparePlaces(a, b) >= 0 ? a : b;
}
