import type { ByteReader } from '../blocks/byte-reader.ts';
import { RegionsError } from '../errors.ts';
import type { FileHead } from '../head/file-head.ts';
import { firstIndex, type VirtualRange } from '../places.ts';
import type { Budget } from './offsets.ts';
import type { Interval, RegionIndex } from './region-index.ts';

/** A slice without a reference, and one that holds several (CRAM 3.0 § 8.5). */
const unplaced = -1;
const severalReferences = -2;
/** Most bytes of a line, which has six numbers. */
const mostLineBytes = 200;
/** What an entry takes in memory, about. */
const entryBytes = 56;

/** One slice: positions [start, end) from 0, and the offset of its container. */
interface Slice extends Interval {
  readonly reference: number;
  readonly container: number;
}

/** CRAI: a line for each slice and each of its references (CRAM 3.0 § 12). */
export async function readCrai(reader: ByteReader, budget: Budget): Promise<CramIndex> {
  const slices: Slice[] = [];
  while (await reader.fill(1)) {
    if (reader.newline() < 0) await reader.fill(mostLineBytes);
    const end = reader.newline();
    if (end < 0 && reader.buffered >= mostLineBytes)
      throw new RegionsError(`it has a line above ${mostLineBytes} bytes`);
    const line = reader
      .take(end < 0 ? reader.buffered : end + 1)
      .toString('latin1')
      .trimEnd();
    if (line === '') continue;
    const fields = /^(-[12]|\d+)\t(-?\d+)\t(-?\d+)\t(\d+)\t(\d+)\t(\d+)$/.exec(line);
    if (!fields) throw new RegionsError('it has a line that is not six numbers');
    const [reference = 0, start = 0, span = 0, container = 0] = fields.slice(1).map(Number);
    budget.take(entryBytes);
    slices.push({ reference, start: start - 1, end: start - 1 + Math.max(span, 1), container });
  }
  return new CramIndex(slices, budget);
}

/** The slices of a CRAM file. Containers are given whole. */
export class CramIndex implements RegionIndex {
  readonly namesAllBlocks = true;
  readonly #byReference: ReadonlyMap<number, readonly Slice[]>;
  readonly #budget: Budget;
  /** Offsets of all containers, in order. */
  readonly #containers: readonly number[];

  constructor(slices: readonly Slice[], budget: Budget) {
    this.#byReference = Map.groupBy(slices, ({ reference }) => reference);
    this.#budget = budget;
    this.#containers = [...new Set(slices.map(({ container }) => container))].sort((a, b) => a - b);
  }

  get memoryBytes(): number {
    return this.#budget.used;
  }

  chunksOf(reference: number, intervals: readonly Interval[], head: FileHead): Iterable<VirtualRange> {
    return this.#containersOf(reference, head, (slice) => {
      const next = intervals[firstIndex(intervals, ({ end }) => end > slice.start)];
      return next !== undefined && next.start < slice.end;
    });
  }

  unplaced(head: FileHead): Iterable<VirtualRange> {
    return this.#containersOf(unplaced, head, () => true);
  }

  eachPlace(visit: (block: number, within: number) => void): void {
    for (const block of this.#containers) visit(block, 0);
  }

  /** Nobody knows what a slice of several references holds, so it belongs to every answer. */
  *#containersOf(reference: number, head: FileHead, fits: (slice: Slice) => boolean): Generator<VirtualRange> {
    const ofReference = this.#byReference.get(reference)?.filter(fits) ?? [];
    const ofSeveral = this.#byReference.get(severalReferences) ?? [];
    for (const block of new Set([...ofReference, ...ofSeveral].map(({ container }) => container))) {
      const next = this.#containers[firstIndex(this.#containers, (container) => container > block)] ?? head.size;
      yield { start: { block, within: 0 }, end: { block: next, within: 0 } };
    }
  }
}
