import { describe, expect, test } from 'vitest';
import { planRearrangement } from '../../../../lib/crypt4gh/index.ts';

const encryptedSegmentBytes = 65_564;

describe('a plan', () => {
  test('joins neighbouring segments and says what to take of the body', () => {
    const plan = planRearrangement({
      ranges: [
        { start: 65_535, end: 65_537 },
        { start: 131_072, end: 131_073 },
        { start: 400_000, end: 400_001 },
      ],
      bodySize: 7 * encryptedSegmentBytes,
    });
    expect(plan.bodyRanges).toEqual([
      { start: 0, end: 3 * encryptedSegmentBytes },
      { start: 6 * encryptedSegmentBytes, end: 7 * encryptedSegmentBytes },
    ]);
    expect(plan.editList).toEqual([65_535n, 2n, 65_535n, 1n, 65_535n + 400_000n - 6n * 65_536n, 1n]);
  });

  test('is open where the end is not known', () => {
    expect(planRearrangement({ ranges: [{ start: 65_540 }] })).toEqual({
      bodyRanges: [{ start: encryptedSegmentBytes, end: undefined }],
      editList: [4n],
    });
    const whole = planRearrangement({ ranges: [{ start: 0 }] });
    expect(whole).toEqual({ bodyRanges: [{ start: 0, end: undefined }], editList: undefined });
  });

  test('of an edit list with values no file has is still exact', () => {
    const huge = 2n ** 64n - 1n;
    expect(planRearrangement({ ranges: [{ start: 0 }], editList: [5n, huge, huge, huge] })).toEqual({
      bodyRanges: [{ start: 0, end: undefined }],
      editList: [5n],
    });
    expect(planRearrangement({ ranges: [{ start: 0 }], editList: [huge, 5n] }).bodyRanges).toEqual([]);
  });

  test.each([[{ start: -1 }], [{ start: 0.5 }], [{ start: 5, end: 4 }], [{ start: 0, end: Number.POSITIVE_INFINITY }]])(
    'of %o is refused',
    (range) => {
      expect(() => planRearrangement({ ranges: [range] })).toThrow(RangeError);
    },
  );

  test('needs no edit list where whole segments are kept', () => {
    const ranges = [{ start: 65_536, end: 2 * 65_536 }, { start: 5 * 65_536 }];
    expect(planRearrangement({ ranges, bodySize: 5 * encryptedSegmentBytes + 1_028 })).toEqual({
      bodyRanges: [
        { start: encryptedSegmentBytes, end: 2 * encryptedSegmentBytes },
        { start: 5 * encryptedSegmentBytes, end: 5 * encryptedSegmentBytes + 1_028 },
      ],
      editList: undefined,
    });
  });

  test('of nothing takes nothing', () => {
    for (const ranges of [[], [{ start: 5, end: 5 }], [{ start: 10_000_000, end: 10_000_005 }]]) {
      const plan = planRearrangement({ ranges, bodySize: encryptedSegmentBytes });
      expect(plan).toEqual({ bodyRanges: [], editList: undefined });
    }
  });
});
