import { pieceBytes } from './part-file.ts';

/** Memory for one piece at a time. */
export class PieceMemory {
  #memory: Buffer = Buffer.alloc(0);

  /** Valid until the next call. */
  of(bytes: number): Buffer {
    if (this.#memory.length < bytes) {
      this.#memory = Buffer.allocUnsafeSlow(Math.min(pieceBytes, Math.max(bytes, 2 * this.#memory.length)));
    }
    return this.#memory.subarray(0, bytes);
  }
}

/** Workers, each with its memory, that fetch one piece at a time. */
export class Workers {
  readonly #free: PieceMemory[];
  readonly #waiting: { readonly order: number; readonly begin: (memory: PieceMemory) => void }[] = [];

  constructor(count: number) {
    this.#free = Array.from({ length: count }, () => new PieceMemory());
  }

  /** A worker that is free. @param order of the file in the listing: the first file that waits gets the next worker */
  async take(order: number): Promise<PieceMemory> {
    const free = this.#free.pop();
    if (free) return free;
    return await new Promise((begin) => this.#waiting.push({ order, begin }));
  }

  give(memory: PieceMemory): void {
    this.#waiting.sort((one, other) => one.order - other.order);
    const next = this.#waiting.shift();
    if (next) next.begin(memory);
    else this.#free.push(memory);
  }
}
