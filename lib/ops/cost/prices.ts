import * as z from 'zod';
import lines from './prices.json' with { type: 'json' };

/** A price that holds up to an amount in the month. The last step has no end. */
const step = z.strictObject({ upTo: z.number().positive().optional(), usd: z.number().nonnegative() });

const priceLine = z.strictObject({
  id: z.string(),
  service: z.string(),
  /** What is paid for. */
  item: z.string(),
  unit: z.string(),
  /** How many of what is counted make one unit: 1,000,000 for requests that are priced by the million. */
  per: z.number().positive(),
  /** For one unit; `null`: no public page with the price was found. */
  usd: z.number().nonnegative().nullable().optional(),
  /** In the place of `usd`, where the price falls with the amount. */
  tiers: z.array(step).min(1).optional(),
  region: z.string(),
  /** Public page with the price. */
  source: z.url().nullable(),
  /** Of the page; of the day when it was read, where it has none. */
  date: z
    .string()
    .regex(/^\d{4}(-\d{2}){0,2}$/)
    .nullable(),
  note: z.string().optional(),
});

/** A line of the price table `prices.json`. */
export type PriceLine = z.infer<typeof priceLine>;

export const prices: readonly PriceLine[] = z.array(priceLine).parse(lines);

/** @throws Error for an id that the table lacks */
export function priceOf(id: string): PriceLine {
  const line = prices.find((candidate) => candidate.id === id);
  if (!line) throw new Error(`the price table has no ${id}`);
  return line;
}

/** What an amount costs in a month, in USD. Free amounts are not subtracted. @returns `undefined` when no price was found */
export function charge({ usd, tiers, per }: PriceLine, amount: number): number | undefined {
  if (!tiers) return usd === undefined || usd === null ? undefined : (amount / per) * usd;
  let total = 0;
  let from = 0;
  for (const { upTo = Number.POSITIVE_INFINITY, usd: each } of tiers) {
    total += (Math.max(0, Math.min(amount, upTo) - from) / per) * each;
    from = upTo;
  }
  return total;
}
