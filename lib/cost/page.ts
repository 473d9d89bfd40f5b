import type { Inventory } from './inventory.ts';
import {
  compare,
  inventoryTable,
  markdown,
  missingIn,
  priceTable,
  scenarios,
  serversOf,
  servicesOf,
  type Table,
} from './report.ts';

/** A table of the page, between `<!-- cost: <name> -->` and `<!-- end -->`. */
const table = /(<!-- cost: (.+?) -->\n)[\s\S]*?(<!-- end -->)/g;

/** The page with its tables made anew. All other text stays as it is. @throws Error for a table of an unknown name */
export function costPage(page: string, inventory: Inventory, secondsPerGib: number): string {
  const monthsOf = (days: number) =>
    scenarios.map(({ month }) => compare(inventory, { ...month, days }, secondsPerGib));
  const months = monthsOf(inventory.outboxDays);
  const names = scenarios.map(({ name }) => name);
  const tables: Readonly<Record<string, () => Table>> = {
    services: () => servicesOf(months, names),
    servers: () => serversOf(months, names),
    'servers, 7 days': () => serversOf(monthsOf(7), names),
    templates: () => inventoryTable(inventory),
    prices: priceTable,
    missing: () => ({ titles: ['no price was found'], rows: missingIn(months).map((line) => [line]) }),
  };
  return page.replace(table, (_, begin: string, name: string, end: string) => {
    const made = tables[name]?.();
    if (!made) throw new Error(`there is no table ${name}`);
    return `${begin}${markdown(made)}${end}`;
  });
}
