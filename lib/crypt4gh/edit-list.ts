/** Plaintext bytes [start, end) that are kept; no `end`: to the end of the input. Positions may exceed 2^64. */
export interface KeptRange {
  readonly start: bigint;
  readonly end: bigint | undefined;
}

/**
 * What an edit list keeps, in ascending order (Crypt4GH § 4.2): lengths to skip and to keep in turn; after a last skip
 * all the rest is kept, after a last keep nothing. An empty list keeps everything.
 */
export function* keptRanges(editList: readonly bigint[]): Generator<KeptRange, void, undefined> {
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

  /** Whether nothing of what comes after the pieces seen so far is kept. */
  get finished(): boolean {
    return this.#current === undefined;
  }

  /** The kept parts of the piece of `length` bytes at plaintext position `start`; empty when it is skipped whole. */
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
