import { createHash } from 'node:crypto';

/** Random numbers that a text decides wholly: xoshiro128**, seeded by SHA-256. Not for keys of anything real. */
export class Seeded {
  readonly #state: Uint32Array;

  constructor(seed: string) {
    const digest = createHash('sha256').update(seed).digest();
    this.#state = Uint32Array.from([0, 4, 8, 12], (offset) => digest.readUInt32LE(offset));
  }

  /** An unsigned 32-bit number. */
  next(): number {
    const [a, b, c, d] = this.#state as unknown as [number, number, number, number];
    const times5 = Math.imul(b, 5);
    const result = Math.imul((times5 << 7) | (times5 >>> 25), 9) >>> 0;
    const mixed = d ^ b;
    this.#state.set([a ^ mixed, b ^ (c ^ a), c ^ a ^ (b << 9), (mixed << 11) | (mixed >>> 21)]);
    return result;
  }

  /** A whole number from 0 to `limit` - 1. */
  below(limit: number): number {
    return this.next() % limit;
  }

  /** True once in `n` times. */
  oneIn(n: number): boolean {
    return this.below(n) === 0;
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)] as T;
  }

  bytes(size: number): Buffer {
    const bytes = Buffer.alloc(size);
    for (let offset = 0; offset < size; offset += 1) bytes[offset] = this.next() >>> 24;
    return bytes;
  }

  /** One of the lengths where arithmetic goes wrong, or a small one. */
  uint64(): bigint {
    return this.oneIn(2)
      ? BigInt(this.below(200_000))
      : this.pick([0n, 1n, 65_535n, 65_536n, 65_537n, 2n ** 32n, 2n ** 53n + 1n, 2n ** 63n, 2n ** 64n - 1n]);
  }
}
