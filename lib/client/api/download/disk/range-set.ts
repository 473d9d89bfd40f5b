import type { ByteRange } from '../../../../crypt4gh/index.ts';

/** A set of bytes of a file, as ranges in ascending order. A download never has many of them. */
export class RangeSet {
  #ranges: ByteRange[];

  constructor(ranges: Iterable<ByteRange> = []) {
    this.#ranges = [];
    for (const { start, end } of ranges) this.add(start, end);
  }

  get ranges(): readonly ByteRange[] {
    return this.#ranges;
  }

  /** Number of bytes in the set. */
  get size(): number {
    return this.#ranges.reduce((sum, { start, end }) => sum + end - start, 0);
  }

  add(start: number, end: number): void {
    if (end <= start) return;
    const apart = this.#ranges.filter((range) => range.end < start || range.start > end);
    const joined = this.#ranges.filter((range) => range.end >= start && range.start <= end);
    const whole = {
      start: Math.min(start, ...joined.map((range) => range.start)),
      end: Math.max(end, ...joined.map((range) => range.end)),
    };
    this.#ranges = [...apart, whole].sort((one, other) => one.start - other.start);
  }

  remove(start: number, end: number): void {
    if (end <= start) return;
    this.#ranges = this.#ranges.flatMap((range) =>
      [
        { start: range.start, end: Math.min(range.end, start) },
        { start: Math.max(range.start, end), end: range.end },
      ].filter((rest) => rest.end > rest.start),
    );
  }

  /** The first range in [start, end) that is not in the set. */
  firstGap(start: number, end: number): ByteRange | undefined {
    let from = start;
    for (const range of this.#ranges) {
      if (range.end <= from) continue;
      if (range.start > from) return from < end ? { start: from, end: Math.min(range.start, end) } : undefined;
      from = range.end;
    }
    return from < end ? { start: from, end } : undefined;
  }

  copy(): RangeSet {
    return new RangeSet(this.#ranges);
  }
}
