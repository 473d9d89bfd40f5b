import { pieceBytes } from './part-file.ts';

/** Workers, each with memory for the piece that it fetches. */
export class Workers {
  readonly #free: Buffer[];
  readonly #waiting: { readonly order: number; readonly begin: (memory: Buffer) => void }[] = [];

  constructor(count: number, bytes = pieceBytes) {
    // The system gives memory for the bytes that are used.
    this.#free = Array.from({ length: count }, () => Buffer.allocUnsafeSlow(bytes));
  }

  /** A worker that is free. @param order of the file in the listing: the first file that waits gets the next worker */
  async take(order: number): Promise<Buffer> {
    return this.#free.pop() ?? (await new Promise((begin) => this.#waiting.push({ order, begin })));
  }

  give(memory: Buffer): void {
    this.#waiting.sort((one, other) => one.order - other.order);
    const next = this.#waiting.shift();
    if (next) next.begin(memory);
    else this.#free.push(memory);
  }
}
