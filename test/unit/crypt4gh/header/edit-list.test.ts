import { describe, expect, test } from 'vitest';
import { editedSize } from '../../../../lib/crypt4gh/index.ts';

describe('the size that an edit list leaves', () => {
  test.each([
    [10, [], 10],
    [10, [4n], 6],
    [10, [4n, 3n], 3],
    [10, [4n, 100n], 6],
    [0, [0n, 1n], 0],
  ])('of %d bytes by %s is %d', (plain, editList, left) => {
    expect(editedSize(plain, editList)).toBe(left);
  });

  test.each([-1, 0.5, Number.NaN, 2 ** 53])('is not known for %d bytes', (plain) => {
    expect(() => editedSize(plain, [])).toThrow(/^expected a plaintext size/);
    expect(() => editedSize(plain, [])).toThrow(RangeError);
  });

  test.each([[[-1n]], [[0n, -1n]], [[0n, 1n, 2n, -3n]]])('is not known for %s: no length is negative', (editList) => {
    expect(() => editedSize(10, editList)).toThrow(RangeError);
  });
});
