import { describe, expect, test } from 'vitest';
import {
  bodyPosition,
  bodyRange,
  decryptedRange,
  editedSize,
  encryptedRange,
  encryptedSize,
  encryptHeader,
  generateKeyPair,
  headerSize,
  plainPosition,
  plainRange,
} from '../../../../lib/crypt4gh/index.ts';

describe('ranges', () => {
  test.each([
    [0, 0, 0, 0],
    [0, 1, 0, 65_564],
    [65_535, 65_537, 0, 131_128],
    [65_536, 65_537, 65_564, 131_128],
    [65_536, 131_072, 65_564, 131_128],
    [70_000, 70_000, 65_564, 65_564],
  ])('plaintext %d to %d is in body %d to %d', (start, end, from, to) => {
    expect(encryptedRange(plainRange(start, end))).toEqual({ start: from, end: to });
  });

  test('end where the body does when the size is known', () => {
    expect(encryptedRange(plainRange(65_000, 1_000_000), { plainSize: 65_540 })).toEqual({
      start: 0,
      end: 65_564 + 32,
    });
    expect(encryptedRange(plainRange(70_000, 80_000), { plainSize: 65_536 })).toEqual({ start: 65_564, end: 65_564 });
    expect(decryptedRange(bodyRange(65_564, 65_600), { plainSize: 65_540 })).toEqual({ start: 65_536, end: 65_540 });
  });

  test.each([
    [0, 0, 0, 0],
    [0, 1, 0, 65_536],
    [65_563, 65_565, 0, 131_072],
    [65_564, 131_128, 65_536, 131_072],
    [70_000, 70_000, 65_536, 65_536],
  ])('body %d to %d touches plaintext %d to %d', (start, end, from, to) => {
    expect(decryptedRange(bodyRange(start, end))).toEqual({ start: from, end: to });
  });

  test('and positions are whole numbers, from 0 on', () => {
    for (const wrong of [-1, 0.5, 2 ** 53, Number.NaN]) {
      expect(() => plainPosition(wrong)).toThrow(RangeError);
      expect(() => bodyPosition(wrong)).toThrow(RangeError);
    }
    expect(() => plainRange(2, 1)).toThrow(RangeError);
    expect(() => bodyRange(2, 1)).toThrow(RangeError);
    expect(() => encryptedRange(plainRange(0, Number.MAX_SAFE_INTEGER))).toThrow(RangeError);
  });

  test('of the two kinds are not taken for each other', () => {
    // @ts-expect-error a body position is not a plaintext position
    encryptedRange(bodyRange(0, 1));
    // @ts-expect-error a bare number says nothing about its kind
    decryptedRange({ start: 0, end: 1 });
    expect(decryptedRange(encryptedRange(plainRange(3, 4)))).toEqual({ start: 0, end: 65_536 });
  });
});

describe('sizes', () => {
  const [one, two] = [generateKeyPair().publicKey, generateKeyPair().publicKey];
  const dataKey = new Uint8Array(32);

  test.each([
    [{ recipients: 1 }, 124, [one], 1, undefined],
    [{ recipients: 2 }, 232, [one, two], 1, undefined],
    [{ recipients: 1, dataKeys: 2 }, 232, [one], 2, undefined],
    [{ recipients: 1, editListLengths: 0 }, 200, [one], 1, []],
    [{ recipients: 2, editListLengths: 3 }, 432, [one, two], 1, [1n, 2n, 3n]],
  ])('of a header with %o: %d bytes', (shape, size, recipients, keys, editList) => {
    expect(headerSize(shape)).toBe(size);
    const dataKeys = Array.from({ length: keys }, () => dataKey);
    expect(encryptHeader({ dataKeys, recipients, editList }).length).toBe(size);
    expect(encryptedSize(65_537, shape)).toBe(size + 65_564 + 29);
  });

  test('above 2^53, or of no header, are refused', () => {
    expect(() => headerSize({ recipients: -1 })).toThrow(RangeError);
    expect(() => headerSize({ recipients: 1.5 })).toThrow(RangeError);
    expect(() => encryptedSize(Number.MAX_SAFE_INTEGER, { recipients: 1 })).toThrow(RangeError);
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
  ])('of 100 bytes after the edit list %s: %d', (editList, size) => {
    expect(editedSize(100, editList)).toBe(size);
  });
});
