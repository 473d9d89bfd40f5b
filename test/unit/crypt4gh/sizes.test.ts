import { describe, expect, test } from 'vitest';
import {
  decryptedSize,
  editedSize,
  encryptedBodySize,
  encryptHeader,
  generateKeyPair,
} from '../../../lib/crypt4gh/index.ts';

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

  test('a body beyond the largest whole number is none', () => {
    expect(() => encryptedBodySize(Number.MAX_SAFE_INTEGER)).toThrow(RangeError);
  });

  const [one, two] = [generateKeyPair().publicKey, generateKeyPair().publicKey];
  test.each([
    [124, [one], 1, undefined],
    [232, [one, two], 1, undefined],
    [232, [one], 2, undefined],
    [200, [one], 1, []],
    [432, [one, two], 1, [1n, 2n, 3n]],
  ])('a header of %d bytes', (size, recipients, keys, editList) => {
    const dataKeys = Array.from({ length: keys }, () => new Uint8Array(32));
    expect(encryptHeader({ dataKeys, recipients, editList })).toHaveLength(size);
  });

  test.each<[bigint[], number]>([
    [[], 100],
    [[0n], 100],
    [[30n], 70],
    [[30n, 20n], 20],
    [[30n, 20n, 20n, 500n], 50],
    [[100n], 0],
    [[2n ** 64n - 1n, 5n], 0],
    [[10n, 0n], 0],
  ])('100 bytes after the edit list %s: %d', (editList, size) => {
    expect(editedSize(100, editList)).toBe(size);
  });
});
