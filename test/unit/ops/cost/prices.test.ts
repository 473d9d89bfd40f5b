import { describe, expect, test } from 'vitest';
import { charge, priceOf, prices } from '../../../../lib/ops/cost/prices.ts';

describe('the price table', () => {
  test('has each id once', () => {
    const ids = prices.map(({ id }) => id);
    expect(ids.length).toBeGreaterThan(20);
    expect(new Set(ids).size).toBe(ids.length);
    expect(() => priceOf('a wish')).toThrow('the price table has no a wish');
  });

  test.each(prices.map((line) => [line.id, line] as const))('%s has its source and date, or no price', (_, line) => {
    const isPriced = line.tiers !== undefined || (line.usd !== null && line.usd !== undefined);
    expect(line.tiers !== undefined && line.usd !== undefined).toBe(false);
    expect([line.source !== null, line.date !== null]).toEqual([isPriced, isPriced]);
    expect(line.region).toBe('us-east-1');
  });

  test('has steps that rise to one without an end', () => {
    for (const { tiers = [{ upTo: undefined }] } of prices) {
      const ends = tiers.map(({ upTo }) => upTo ?? Number.POSITIVE_INFINITY);
      expect(ends).toEqual(ends.toSorted((a, b) => a - b));
      expect(ends.indexOf(Number.POSITIVE_INFINITY)).toBe(ends.length - 1);
    }
  });
});

describe('a charge', () => {
  // By hand, from the prices of the table.
  test.each([
    ['egress', 0, 0],
    ['egress', 100, 9],
    ['egress', 10_240, 921.6],
    // 921.60 + 100 × 0.085
    ['egress', 10_340, 930.1],
    // 921.60 + 40,960 × 0.085 + 102,400 × 0.07 + 1,000 × 0.05
    ['egress', 154_600, 11_621.2],
    // 51,200 × 0.023 + 10 × 0.022
    ['s3.storage', 51_210, 1177.82],
    ['s3.writes', 1600, 0.008],
    ['kms.keys', 12, 12],
    // A month of half an ACU: 365 × 0.12
    ['aurora.capacity', 365, 43.8],
    ['apigateway.requests', 2_000_000, 7],
  ])('for %s, %d: %d', (id, amount, usd) => {
    expect(charge(priceOf(id), amount)).toBeCloseTo(usd, 9);
  });

  test('is unknown without a price, and not nothing', () => {
    expect(charge(priceOf('events.schedules'), 100)).toBeUndefined();
  });
});
