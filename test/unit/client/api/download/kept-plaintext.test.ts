import fc from 'fast-check';
import { expect, test } from 'vitest';
import { KeptPlaintext } from '../../../../../lib/client/api/download/kept-plaintext.ts';

/** Crypt4GH § 4.2, byte by byte: positions of the plaintext that are kept, in order. */
function keptPositions(size: number, editList: readonly bigint[] | undefined): number[] {
  if (editList === undefined || editList.length === 0) return Array.from({ length: size }, (_, at) => at);
  const kept: number[] = [];
  let at = 0;
  editList.forEach((bytes, index) => {
    for (let count = 0n; count < bytes && at < size; count += 1n, at += 1) if (index % 2 === 1) kept.push(at);
  });
  if (editList.length % 2 === 1) for (; at < size; at += 1) kept.push(at);
  return kept;
}

test('pieces in any order put every kept byte where the edit list wants it', () => {
  const editList = fc.option(fc.array(fc.bigInt(0n, 30n), { maxLength: 12 }), { nil: undefined });
  fc.assert(
    fc.property(fc.nat(100), editList, fc.integer({ min: 1, max: 20 }), (size, list, piece) => {
      const expected = keptPositions(size, list);
      const kept = new KeptPlaintext(size, list);
      expect(kept.size).toBe(expected.length);
      const output: (number | undefined)[] = Array.from({ length: kept.size });
      for (let start = Math.floor(size / piece) * piece; start >= 0; start -= piece) {
        for (const { from, to, at } of kept.placed(start, Math.min(piece, size - start))) {
          for (let offset = from; offset < to; offset += 1) output[at + offset - from] = start + offset;
        }
      }
      expect(output).toEqual(expected);
    }),
  );
});

test('lengths above 2^64 keep or skip all the rest', () => {
  expect(new KeptPlaintext(10, [2n, 1n << 70n]).size).toBe(8);
  expect(new KeptPlaintext(10, [1n << 70n, 5n]).size).toBe(0);
});
