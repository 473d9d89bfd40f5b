import { RegionsError } from '../errors.ts';
import type { VirtualOffset } from '../virtual-offsets.ts';

/** What the lists of one index may hold together. */
export class Budget {
  #left: number;
  readonly #limit: number;
  constructor(bytes: number) {
    this.#left = bytes;
    this.#limit = bytes;
  }

  get used(): number {
    return this.#limit - this.#left;
  }

  /** @throws RegionsError if nothing is left. */
  take(bytes: number): void {
    this.#left -= bytes;
    if (this.#left < 0) throw new RegionsError(`it needs more than ${this.#limit} bytes of memory`);
  }
}

/** Numbers of one page: a list that doubles would take up to three times the memory of what it holds. */
const pageLength = 2 ** 14;

/** A growing list of whole numbers from 0 to 2^32 - 1, at four bytes each. */
export class Numbers {
  readonly #budget: Budget;
  readonly #pages: Uint32Array[] = [];
  length = 0;

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  push(value: number): void {
    const within = this.length % pageLength;
    if (within === 0) {
      this.#budget.take(pageLength * 4);
      this.#pages.push(new Uint32Array(pageLength));
    }
    (this.#pages.at(-1) as Uint32Array)[within] = value;
    this.length++;
  }

  at(index: number): number {
    return this.#pages[Math.floor(index / pageLength)]?.[index % pageLength] ?? 0;
  }
}

/** A growing list of virtual offsets (SAMv1 § 4.1.1): 48 bits of block and 16 bits within. */
export class Offsets {
  readonly #halves: Numbers;
  constructor(budget: Budget) {
    this.#halves = new Numbers(budget);
  }

  get length(): number {
    return this.#halves.length / 2;
  }

  /** Adds an offset by its lower and its upper 32 bits. */
  push(low: number, high: number): void {
    this.#halves.push(low);
    this.#halves.push(high);
  }

  at(index: number): VirtualOffset {
    const low = this.#halves.at(index * 2);
    return { block: this.#halves.at(index * 2 + 1) * 2 ** 16 + (low >>> 16), within: low & 0xffff };
  }

  /** Calls `visit` for each offset but 0, which stands for none, and of equal neighbours once. */
  each(visit: (block: number, within: number) => void): void {
    let [lastLow, lastHigh] = [0, 0];
    for (let index = 0; index < this.#halves.length; index += 2) {
      const [low, high] = [this.#halves.at(index), this.#halves.at(index + 1)];
      if (low === lastLow && high === lastHigh) continue;
      [lastLow, lastHigh] = [low, high];
      if (low > 0 || high > 0) visit(high * 2 ** 16 + (low >>> 16), low & 0xffff);
    }
  }
}
