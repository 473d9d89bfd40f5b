import fc from 'fast-check';
import { expect, test } from 'vitest';
import { planContainer } from '../../lib/service/containers/plan.ts';

const MiB = 1024 * 1024;
const GiB = 1024 * MiB;
const TiB = 1024 * GiB;

const bodySize = fc.oneof(
  { withCrossShrink: true },
  fc.integer({ min: 0, max: 32 * MiB }),
  fc.integer({ min: 0, max: GiB }),
  fc.maxSafeInteger().map((n) => Math.abs(n) % Math.floor(48.8 * TiB)),
  // Where the size of the copies changes: 9,999 copies of whole MiB are just enough, or one byte short.
  fc
    .tuple(fc.integer({ min: 64, max: 5117 }), fc.integer({ min: -1, max: 1 }))
    .map(([copyMiB, more]) => 9_999 * copyMiB * MiB + 5 * MiB - 124 + more),
  fc.constant(Math.floor(48.8 * TiB)),
);
const headerSize = fc.oneof(fc.integer({ min: 124, max: 4096 }), fc.integer({ min: 5 * MiB - 2, max: 6 * MiB }));

test('parts cover the body once, without gap, within the limits of S3', () => {
  fc.assert(
    fc.property(headerSize, bodySize, (header, body) => {
      const plan = planContainer(header, body);
      if (plan.kind === 'put') {
        expect(body).toBeLessThanOrEqual(8 * MiB);
        return;
      }
      const parts = [header + plan.sent, ...plan.copies.map(({ start, end }) => end - start)];
      expect(parts.length).toBeLessThanOrEqual(10_000);
      expect(parts.slice(0, -1).every((size) => size >= 5 * MiB && size <= 5 * GiB)).toBe(true);
      expect(parts.at(-1)).toBeGreaterThan(0);
      expect(parts.at(-1)).toBeLessThanOrEqual(5 * GiB);
      expect(plan.sent).toBeLessThanOrEqual(5 * MiB);
      expect(plan.copies.slice(0, -1).every(({ start, end }) => end - start === plan.copySize)).toBe(true);
      expect(parts.reduce((sum, size) => sum + size, 0)).toBe(header + body);
      let position = plan.sent;
      for (const [index, { partNumber, start, end }] of plan.copies.entries()) {
        if (partNumber !== index + 2 || start !== position) throw new Error(`gap before part ${partNumber}`);
        position = end;
      }
      expect(position).toBe(body);
    }),
    { numRuns: 60 },
  );
});
