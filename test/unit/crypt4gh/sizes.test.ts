import { describe, expect, test } from 'vitest';
import { decryptedSize, encryptedBodySize } from '../../../lib/crypt4gh/index.ts';

describe('sizes by arithmetic', () => {
  test('an empty body, and one of an empty segment, hold nothing', () => {
    expect(encryptedBodySize(0)).toBe(0);
    expect(decryptedSize(0)).toBe(0);
    expect(decryptedSize(28)).toBe(0);
    expect(decryptedSize(65_564 + 28)).toBe(65_536);
  });

  test.each([
    [1, 0, 0, 1],
    [27, 0, 0, 27],
    [65_565, 1, 65_564, 65_565],
    [65_591, 1, 65_564, 65_591],
  ])('no body has %d bytes', (size, segment, start, end) => {
    expect(() => decryptedSize(size)).toThrow(
      expect.objectContaining({ code: 'truncated-segment', segment, start, end }),
    );
  });

  test.each([-1, 0.5, Number.NaN, 2 ** 53])('%d is not a size', (size) => {
    expect(() => encryptedBodySize(size)).toThrow(RangeError);
    expect(() => decryptedSize(size)).toThrow(RangeError);
  });

  test('a negative bigint is not a size', () => {
    expect(() => encryptedBodySize(-1n)).toThrow(RangeError);
  });
});
