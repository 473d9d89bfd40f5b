import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RangeSet } from '../../../../../../lib/client/api/download/disk/range-set.ts';

const length = 40;
const range = fc
  .tuple(fc.nat(length), fc.nat(length))
  .map(([one, other]) => ({ start: Math.min(one, other), end: Math.max(one, other) }));

test('ranges behave like a set of positions', () => {
  const steps = fc.array(fc.record({ remove: fc.boolean(), range }), { maxLength: 20 });
  fc.assert(
    fc.property(steps, range, (operations, within) => {
      const ranges = new RangeSet();
      const model = new Set<number>();
      for (const {
        remove,
        range: { start, end },
      } of operations) {
        if (remove) ranges.remove(start, end);
        else ranges.add(start, end);
        for (let at = start; at < end; at += 1) {
          if (remove) model.delete(at);
          else model.add(at);
        }
      }
      const listed = ranges.ranges.flatMap(({ start, end }) =>
        Array.from({ length: end - start }, (_, at) => start + at),
      );
      expect(listed).toEqual([...model].sort((one, other) => one - other));
      expect(ranges.size).toBe(model.size);
      // As few ranges as possible: no two touch.
      for (const [index, { start }] of ranges.ranges.entries()) expect(ranges.ranges[index - 1]?.end).not.toBe(start);

      const missing = Array.from({ length: within.end - within.start }, (_, at) => within.start + at);
      const first = missing.find((at) => !model.has(at));
      const gap = ranges.firstGap(within.start, within.end);
      expect(gap?.start).toBe(first);
      if (gap) {
        const end = missing.find((at) => at > gap.start && model.has(at)) ?? within.end;
        expect(gap.end).toBe(end);
      }
    }),
  );
});
