import { describe, expect, test } from 'vitest';
import { selectedRange } from '../../../lib/common/http-ranges.ts';

describe('of 10,000 bytes (the examples of RFC 9110 § 14.1.2, and around them)', () => {
  test.each([
    ['bytes=0-499', 0, 500],
    ['bytes=500-999', 500, 1000],
    ['bytes=-500', 9500, 10_000],
    ['bytes=9500-', 9500, 10_000],
    ['bytes=0-0', 0, 1],
    ['bytes=-1', 9999, 10_000],
    ['bytes=9999-9999', 9999, 10_000],
    ['bytes=9999-10000', 9999, 10_000],
    ['bytes=0-', 0, 10_000],
    ['bytes=-10000', 0, 10_000],
    ['bytes=-10001', 0, 10_000],
    [`bytes=5-${'9'.repeat(400)}`, 5, 10_000],
    [`bytes=-${'9'.repeat(400)}`, 0, 10_000],
    ['bytes=007-0008', 7, 9],
    // The unit in any case of letters (§ 14.1); one member among empty ones, with white space (§ 5.6.1.2).
    ['BYTES=1-2', 1, 3],
    ['bytes= ,\t1-2 ,, ', 1, 3],
  ])('%s is [%i, %i)', (value, start, end) => {
    expect(selectedRange(value, 10_000)).toEqual({ start, end });
  });

  test.each(['bytes=10000-', 'bytes=10000-10000', 'bytes=-0', `bytes=${'9'.repeat(400)}-`])(
    '%s begins after the end',
    (value) => {
      expect(selectedRange(value, 10_000)).toBe('unsatisfiable');
    },
  );

  test.each([
    undefined,
    '',
    'bytes',
    'bytes=',
    'bytes=,',
    'bytes=-',
    'bytes=1',
    'bytes=a-b',
    'bytes=1-2-3',
    'bytes=1 - 2',
    'bytes=+1-2',
    'bytes=0x1-2',
    'bytes=1.5-2',
    'bytes=2-1',
    'bytes=--1',
    'bytes = 1-2',
    'items=0-5',
    'seconds=1-2',
    'bytes=0-0,-1',
    'bytes=500-600,601-999',
    `bytes=2-${'0'.repeat(400)}1`,
  ])('%s is ignored: the whole goes out', (value) => {
    expect(selectedRange(value, 10_000)).toBeUndefined();
  });
});

test('a suffix of an empty file is empty, which no Content-Range can express', () => {
  expect(selectedRange('bytes=-5', 0)).toBeUndefined();
  expect(selectedRange('bytes=-0', 0)).toBe('unsatisfiable');
  expect(selectedRange('bytes=0-', 0)).toBe('unsatisfiable');
});
