import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openPart, splitter, type VirtualOffset, type VirtualRange } from '../../lib/regions/index.ts';
import { bgzf, joined, memory } from '../helpers/region-files.ts';

const layout = fc.record({
  sizes: fc.array(fc.oneof(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 1, max: 65_280 })), {
    minLength: 1,
    maxLength: 14,
  }),
  level: fc.constantFrom(0, 1, 6),
  seed: fc.integer({ min: 1, max: 2 ** 31 }),
  cuts: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 0, maxLength: 6 }),
});

test('parts of a file of any blocks hold exactly the bytes between their places, whatever the cuts', async () => {
  await fc.assert(
    fc.asyncProperty(layout, async ({ sizes, level, seed, cuts }) => {
      const plain = noise(
        sizes.reduce((sum, size) => sum + size, 0),
        seed,
      );
      const { bytes, starts } = bgzf(plain, sizes, level);
      const source = memory(bytes);
      const positions = [...new Set([0, plain.length, ...cuts.map((cut) => Math.floor(cut * plain.length))])].sort(
        (a, b) => a - b,
      );
      const ranges = positions.slice(1).map(
        (end, index): VirtualRange => ({
          start: placeOf(positions[index]!, sizes, starts, bytes.length),
          end: placeOf(end, sizes, starts, bytes.length),
        }),
      );
      const whole: VirtualRange = { start: { block: 0, within: 0 }, end: { block: bytes.length, within: 0 } };
      for (const some of [ranges, [whole], ranges.filter((_, index) => index % 2 === 0)]) {
        const parts = splitter(some)(65_536);
        const expected = some.map((range) => plain.subarray(...positionsOf(range, sizes, starts, plain.length)));
        expect(inflated(await joined(source, 'BAM', parts)).equals(Buffer.concat(expected))).toBe(true);
        for (const range of parts) {
          const { size, stream } = await openPart(source, 'BAM', range);
          const whole = Buffer.concat(await Array.fromAsync(stream()));
          const [from = 0, to = size] = cuts
            .map((cut) => Math.floor(cut * size))
            .slice(0, 2)
            .sort((a, b) => a - b);
          const some = Buffer.concat(await Array.fromAsync(stream(from, to)));
          expect(some.equals(whole.subarray(from, to))).toBe(true);
        }
      }
    }),
    { numRuns: 60 },
  );
});

function placeOf(position: number, sizes: readonly number[], starts: readonly number[], size: number): VirtualOffset {
  let left = position;
  for (const [index, length] of sizes.entries()) {
    if (left < length) return { block: starts[index]!, within: left };
    left -= length;
  }
  return { block: size, within: 0 };
}

function positionsOf({ start, end }: VirtualRange, sizes: readonly number[], starts: readonly number[], size: number) {
  const position = (place: VirtualOffset) => {
    const index = starts.indexOf(place.block);
    return index < 0 ? size : sizes.slice(0, index).reduce((sum, length) => sum + length, 0) + place.within;
  };
  return [position(start), position(end)] as const;
}

function inflated(bytes: Uint8Array): Buffer {
  return bytes.length === 0 ? Buffer.alloc(0) : gunzipSync(bytes);
}

/** Bytes that hardly compress, of a linear congruential generator. */
function noise(length: number, seed: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let at = 0, state = seed; at < length; at++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes[at] = state >>> 24;
  }
  return bytes;
}
