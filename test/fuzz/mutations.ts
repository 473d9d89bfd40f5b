import type { Seeded } from './seeded.ts';

/** Numbers that a 32-bit field lies with. */
const lies = [0, 1, 3, 4, 7, 8, 43, 44, 68, 108, 65_535, 65_536, 65_537, 2 ** 24, 2 ** 31, 2 ** 32 - 1];

/** A field's value: mostly the true one, once in `n` times near it or far from it. */
export function fieldValue(random: Seeded, truth: number, n: number): number {
  if (!random.oneIn(n)) return truth;
  return random.oneIn(2) ? (truth + random.pick([-1, 1, 4, -4]) + 2 ** 32) % 2 ** 32 : random.pick(lies);
}

/** The bytes changed at up to `most` places: bits turned, bytes put in, taken out, repeated or cut off. */
export function mutated(random: Seeded, bytes: Buffer, most: number): Buffer {
  let result = bytes;
  for (let count = random.below(most + 1); count > 0; count -= 1) result = mutatedOnce(random, result);
  return result;
}

function mutatedOnce(random: Seeded, bytes: Buffer): Buffer {
  const at = random.below(bytes.length + 1);
  const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)];
  const few = 1 + random.below(random.oneIn(4) ? 200 : 8);
  switch (random.below(6)) {
    case 0:
      return before;
    case 1:
      return Buffer.concat([before, random.bytes(few), after]);
    case 2:
      return Buffer.concat([before, after.subarray(few)]);
    case 3:
      return Buffer.concat([before, after.subarray(0, few), after]);
    default: {
      const changed = Buffer.from(bytes);
      if (at < changed.length) changed[at] = (changed[at] ?? 0) ^ (1 << random.below(8));
      return changed;
    }
  }
}
