import type { ByteReader } from '../blocks/byte-reader.ts';
import { RegionsError } from '../errors.ts';
import type { FileHead } from '../head/file-head.ts';
import { firstIndex, type VirtualRange } from '../virtual-offsets.ts';
import { type Budget, Numbers } from './offsets.ts';
import type { RegionIndex, Wanted } from './region-index.ts';

/** A slice without a reference, and one that holds several (CRAM 3.0 § 8.5). */
const unplacedReference = -1;
const severalReferences = -2;
/** Most bytes of a line, which has six numbers. */
const mostLineBytes = 200;
/** Bytes of a container's offset in the list of all. */
const offsetBytes = 8;
/** Above each number of a reference, and each position (CRAM 3.0 § 2.3). */
const mostPosition = 2 ** 31;

/** CRAI: a line for each slice and each of its references (CRAM 3.0 § 12). */
export async function readCrai(reader: ByteReader, budget: Budget): Promise<CramIndex> {
  const index = new CramIndex(budget);
  const line = new Line();
  while (await reader.fill(1)) {
    if (reader.newline() < 0) await reader.fill(mostLineBytes);
    if (reader.newline() < 0 && reader.buffered >= mostLineBytes)
      throw new RegionsError(`it has a line above ${mostLineBytes} bytes`);
    const lines = reader.takeLines();
    for (let at = 0; at < lines.length; ) {
      at = line.read(lines, at);
      const [reference = 0, start = 0, span = 0, container = 0] = line.fields;
      index.add(reference, start - 1, start - 1 + Math.max(span, 1), container);
    }
  }
  index.finish();
  return index;
}

const [tab, newline, carriageReturn, minus, zero] = [0x09, 0x0a, 0x0d, 0x2d, 0x30];
/** How many numbers of a line may be negative: reference, start and span. */
const signed = 3;

/** The numbers of one line after the other. Strings of millions of lines would take a second, and hundreds of megabytes. */
class Line {
  readonly fields = new Float64Array(6);

  /** @returns where the next line begins. @throws RegionsError for anything but six numbers */
  read(bytes: Uint8Array, start: number): number {
    let at = start;
    for (let field = 0; field < this.fields.length; field++) {
      if (field > 0 && bytes[at++] !== tab) throw noSixNumbers();
      const isNegative = field < signed && bytes[at] === minus;
      if (isNegative) at++;
      let value = 0;
      const first = at;
      for (let digit = digitAt(bytes, at); digit >= 0; digit = digitAt(bytes, ++at)) value = value * 10 + digit;
      if (at === first || !Number.isSafeInteger(value)) throw noSixNumbers();
      this.fields[field] = isNegative ? -value : value;
    }
    if (bytes[at] === carriageReturn) at++;
    if (at < bytes.length && bytes[at] !== newline) throw noSixNumbers();
    return at + 1;
  }
}

/** Less than 0 for what is none. */
function digitAt(bytes: Uint8Array, at: number): number {
  const digit = (bytes[at] ?? 0) - zero;
  return digit <= 9 ? digit : -1;
}

function noSixNumbers(): RegionsError {
  return new RegionsError('it has a line that is not six numbers');
}

/** The slices of a CRAM file, in flat lists. Containers are given whole. */
export class CramIndex implements RegionIndex {
  readonly namesAllBlocks = true;
  readonly #budget: Budget;
  /** Of each slice, the number of its reference, increased by 2 so that none is negative. */
  readonly #references: Numbers;
  /** Positions [start, end) from 0. */
  readonly #starts: Numbers;
  readonly #ends: Numbers;
  readonly #containers: Containers;

  constructor(budget: Budget) {
    this.#budget = budget;
    this.#references = new Numbers(budget);
    this.#starts = new Numbers(budget);
    this.#ends = new Numbers(budget);
    this.#containers = new Containers(budget);
  }

  get memoryBytes(): number {
    return this.#budget.used;
  }

  add(reference: number, start: number, end: number, container: number): void {
    if (reference < severalReferences || reference >= mostPosition)
      throw new RegionsError(`it has a reference with the number ${reference}`);
    this.#references.push(reference + 2);
    this.#starts.push(Math.min(Math.max(start, 0), mostPosition));
    this.#ends.push(Math.min(Math.max(end, 0), mostPosition));
    this.#containers.push(container);
  }

  /** Ends the list of slices. */
  finish(): void {
    this.#containers.sort();
  }

  *rangesOf({ intervals, unplaced }: Wanted, head: FileHead): Generator<VirtualRange> {
    for (let slice = 0; slice < this.#references.length; slice++) {
      const reference = this.#references.at(slice) - 2;
      const [start, end] = [this.#starts.at(slice), this.#ends.at(slice)];
      const positions = intervals.get(reference) ?? [];
      const next = positions[firstIndex(positions, (interval) => interval.end > start)];
      const isIn =
        (next !== undefined && next.start < end) ||
        (unplaced && reference === unplacedReference) ||
        // The index does not say what it holds, so it belongs to every answer.
        reference === severalReferences;
      if (!isIn) continue;
      const container = this.#containers.at(slice);
      yield {
        start: { block: container, within: 0 },
        end: { block: this.#containers.behind(container) ?? head.size, within: 0 },
      };
    }
  }

  eachPlace(visit: (block: number, within: number) => void): void {
    this.#containers.each((block) => visit(block, 0));
  }
}

/** Offsets of containers, by slice and in order. */
class Containers {
  readonly #budget: Budget;
  readonly #lower: Numbers;
  readonly #upper: Numbers;
  #inOrder = new Float64Array();

  constructor(budget: Budget) {
    this.#budget = budget;
    this.#lower = new Numbers(budget);
    this.#upper = new Numbers(budget);
  }

  push(container: number): void {
    this.#budget.take(offsetBytes);
    this.#lower.push(container % 2 ** 32);
    this.#upper.push(Math.floor(container / 2 ** 32));
  }

  /** The container of a slice. */
  at(slice: number): number {
    return this.#upper.at(slice) * 2 ** 32 + this.#lower.at(slice);
  }

  sort(): void {
    this.#inOrder = Float64Array.from({ length: this.#lower.length }, (_, slice) => this.at(slice)).sort();
  }

  /** The next container behind one, if there is any. */
  behind(container: number): number | undefined {
    return this.#inOrder[firstIndex(this.#inOrder, (each) => each > container)];
  }

  each(visit: (container: number) => void): void {
    let last = Number.NaN;
    for (const container of this.#inOrder) {
      if (container !== last) visit(container);
      last = container;
    }
  }
}
