import { expectSize } from '../sizes.ts';

/** Plaintext bytes [start, end) that are kept (Crypt4GH § 4.2); without `end`: to the end. Positions may exceed 2^64. */
export interface KeptRange {
  readonly start: bigint;
  readonly end: bigint | undefined;
}

/**
 * The ranges that an edit list keeps, in ascending order (Crypt4GH § 4.2). An edit list has lengths to skip and to keep in
 * turn. After a last skip all the rest is kept; after a last keep nothing is. An empty list keeps everything.
 */
export function* keptRanges(editList: readonly bigint[]): Generator<KeptRange, void, undefined> {
  const negative = editList.find((length) => length < 0n);
  if (negative !== undefined) throw new RangeError(`expected edit list lengths from 0 on, got ${negative}`);
  let position = 0n;
  for (let index = 0; index < editList.length; index += 2) {
    const start = position + (editList[index] ?? 0n);
    const keep = editList[index + 1];
    if (keep === undefined) {
      yield { start, end: undefined };
      return;
    }
    position = start + keep;
    if (keep > 0n) yield { start, end: position };
  }
  if (editList.length === 0) yield { start: 0n, end: undefined };
}

/** Bytes of a plaintext of `plain` bytes that an edit list keeps (Crypt4GH § 4.2). */
export function editedSize(plain: number, editList: readonly bigint[]): number {
  let size = 0n;
  expectSize(plain, 'a plaintext size');
  const limit = BigInt(plain);
  for (const { start, end = limit } of keptRanges(editList)) {
    if (start >= limit) break;
    size += (end < limit ? end : limit) - start;
  }
  return Number(size);
}

/**
 * Maps ranges of the output of an edit list to ranges of the plaintext.
 *
 * @param ranges positions in the output of the edit list; ascending, not overlapping.
 * @returns positions in the plaintext; ascending, ranges that touch are not joined.
 */
export function* selectKept(
  editList: readonly bigint[] | undefined,
  ranges: Iterable<KeptRange>,
): Generator<KeptRange, void, undefined> {
  const kept = keptRanges(editList ?? []);
  let current = kept.next().value;
  /** Position in the output where `current` begins. */
  let position = 0n;
  for (const { start, end } of ranges) {
    while (current !== undefined) {
      const { start: plainStart, end: plainEnd } = current;
      const currentEnd = plainEnd === undefined ? undefined : position + (plainEnd - plainStart);
      const from = start > position ? start : position;
      const to = end === undefined || (currentEnd !== undefined && currentEnd < end) ? currentEnd : end;
      if (to === undefined || to > from) {
        const shift = plainStart - position;
        yield { start: from + shift, end: to === undefined ? undefined : to + shift };
      }
      // The next range may need the rest of this kept one.
      if (currentEnd === undefined || (end !== undefined && currentEnd > end)) break;
      position = currentEnd;
      current = kept.next().value;
    }
  }
}

/** The ranges in ascending order, without empty ones; ranges that overlap or touch are joined. */
export function joinedRanges(ranges: readonly KeptRange[]): KeptRange[] {
  const joined: KeptRange[] = [];
  const sorted = ranges
    .filter(({ start, end }) => end === undefined || end > start)
    .sort((one, other) => (one.start < other.start ? -1 : Number(one.start > other.start)));
  for (const range of sorted) {
    const last = joined.at(-1);
    if (last === undefined || (last.end !== undefined && last.end < range.start)) joined.push(range);
    else if (last.end !== undefined && (range.end === undefined || range.end > last.end)) {
      joined[joined.length - 1] = { start: last.start, end: range.end };
    }
  }
  return joined;
}

/** The edit list that keeps these ranges. @param ranges ascending, not overlapping; the last one may be open. */
export function editListOf(ranges: readonly KeptRange[]): bigint[] {
  let position = 0n;
  return ranges.flatMap(({ start, end }) => {
    const skip = start - position;
    if (end === undefined) return [skip];
    position = end;
    return [skip, end - start];
  });
}

/** A part of a piece of plaintext, as offsets [from, to) into that piece. */
export interface Slice {
  readonly from: number;
  readonly to: number;
}

/** Walks an edit list along a plaintext that comes piece by piece, in order. */
export class EditListCursor {
  readonly #ranges: Iterator<KeptRange, void, undefined>;
  #current: KeptRange | undefined;

  constructor(editList: readonly bigint[]) {
    this.#ranges = keptRanges(editList);
    this.#next();
  }

  /** Whether no later piece is kept. */
  get finished(): boolean {
    return this.#current === undefined;
  }

  /** The kept parts of the piece of `length` bytes at plaintext position `start`; empty if it is skipped whole. */
  slices(start: bigint, length: number): Slice[] {
    const end = start + BigInt(length);
    const slices: Slice[] = [];
    while (this.#current !== undefined && this.#current.start < end) {
      const { start: keptFrom, end: keptTo } = this.#current;
      const from = keptFrom > start ? keptFrom : start;
      const to = keptTo !== undefined && keptTo < end ? keptTo : end;
      if (to > from) slices.push({ from: Number(from - start), to: Number(to - start) });
      if (keptTo === undefined || keptTo > end) break;
      this.#next();
    }
    return slices;
  }

  #next(): void {
    const { value } = this.#ranges.next();
    this.#current = value ?? undefined;
  }
}
