import { charge, type PriceLine, priceOf } from './prices.ts';
import type { Amounts } from './usage.ts';

/** USD of a month. */
export interface Charges {
  readonly idle: number;
  readonly use: number;
  readonly total: number;
}

export interface Bill extends Charges {
  /** The largest first; without services that cost nothing. */
  readonly services: readonly (Charges & { readonly service: string })[];
  /** What is used and has no price in the table: it is in no sum. */
  readonly missing: readonly PriceLine[];
}

/** Amounts times prices, by service. `use` is what the workload adds. */
export function billOf(amounts: Amounts): Bill {
  const services = new Map<string, Charges>();
  const missing: PriceLine[] = [];
  for (const [id, { idle, use }] of Object.entries(amounts)) {
    const line = priceOf(id);
    const [before, total] = [charge(line, idle), charge(line, idle + use)];
    if (before === undefined || total === undefined) {
      if (idle + use > 0) missing.push(line);
      continue;
    }
    const sum = services.get(line.service) ?? nothing;
    services.set(line.service, add(sum, { idle: before, use: total - before, total }));
  }
  const list = [...services].map(([service, charges]) => ({ service, ...charges }));
  return {
    ...list.reduce<Charges>(add, nothing),
    services: list.filter(({ total }) => total > 0).sort((a, b) => b.total - a.total),
    missing,
  };
}

const nothing: Charges = { idle: 0, use: 0, total: 0 };

const add = (a: Charges, b: Charges): Charges => ({
  idle: a.idle + b.idle,
  use: a.use + b.use,
  total: a.total + b.total,
});
