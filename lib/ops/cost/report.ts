import { type Bill, billOf } from './bill.ts';
import type { Inventory } from './inventory.ts';
import { serviceAmounts, type Workload } from './usage.ts';

/** Files of 100 MB, 1,000 of them in an export. */
const usual = { files: 1000, gib: 1e11 / 2 ** 30, downloads: 1 };

/** The months that the page and the command show when none is asked for: 0, 10 and 10,000 such exports. */
export const scenarios: readonly { readonly name: string; readonly month: Omit<Workload, 'days'> }[] = [
  { name: 'idle', month: { ...usual, exports: 0 } },
  { name: '1 TB', month: { ...usual, exports: 10 } },
  { name: '1 PB', month: { ...usual, exports: 10_000 } },
];

/** What a month costs. */
export interface Month {
  readonly workload: Workload;
  readonly service: Bill;
}

export function monthOf(inventory: Inventory, workload: Workload): Month {
  return { workload, service: billOf(serviceAmounts(inventory, workload)) };
}

/** Titles and rows of text. */
export interface Table {
  readonly titles: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** One month by service. */
export function serviceTable({ service }: Month): Table {
  const row = (name: string, { idle, use, total }: Omit<Bill, 'services' | 'missing'>) => [
    name,
    ...[idle, use, total].map(usd),
    share(total / service.total),
  ];
  return {
    titles: ['service', 'idle', 'use', 'total', 'share'],
    rows: [...service.services.map((charges) => row(charges.service, charges)), row('total', service)],
  };
}

/** Several months side by side, by service. */
export function servicesOf(months: readonly Month[], names: readonly string[]): Table {
  const services = [
    ...new Set(months.toReversed().flatMap(({ service }) => service.services.map((one) => one.service))),
  ];
  const cost = (name: string) =>
    months.map(({ service }) => usd(service.services.find((one) => one.service === name)?.total ?? 0));
  return {
    titles: ['service', ...names],
    rows: [
      ...services.map((name) => [name, ...cost(name)]),
      ['total', ...months.map(({ service }) => usd(service.total))],
      ['egress, of the total', ...months.map(({ service }) => share(egressOf(service) / service.total))],
    ],
  };
}

/** What the templates hold. */
function inventoryTable(inventory: Inventory): Table {
  const { keys, secrets, alarmMetrics, dashboards, webAcls, leastCapacity, polledQueues, schedules } = inventory;
  const runs = schedules.reduce((sum, { runsAMonth }) => sum + runsAMonth, 0);
  const counts = Object.entries({
    'customer keys': keys,
    'secrets, with the one that RDS makes': secrets,
    'metrics in alarms': alarmMetrics,
    dashboards,
    'web ACLs': webAcls,
    'least capacity of the database, ACU': leastCapacity,
    'queues that Lambda polls': polledQueues,
    'scheduled runs a month': runs,
    'days in the outbox': inventory.outboxDays,
  });
  return { titles: ['in the templates', 'count'], rows: counts.map(([name, count]) => [name, String(count)]) };
}

/** What has no price, in words; empty when nothing is missing. */
export function missingIn(months: readonly Month[]): readonly string[] {
  return [
    ...new Set(months.flatMap(({ service }) => service.missing.map(({ service, item }) => `${service}: ${item}`))),
  ];
}

/** USD of data that leaves AWS. */
export const egressOf = ({ services }: Bill): number =>
  services.find(({ service }) => service === 'Data transfer')?.total ?? 0;

function markdown({ titles, rows }: Table): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |\n`;
  return [titles, titles.map((_, index) => (index === 0 ? '---' : '--:')), ...rows].map(line).join('');
}

/** From 1,000 on without cents. */
export function usd(amount: number): string {
  const digits = amount < 1000 ? 2 : 0;
  return amount.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

export const share = (part: number): string => `${Math.round(part * 100)} %`;

/** A table of the page, between `<!-- cost: <name> -->` and `<!-- end -->`. */
const table = /(<!-- cost: (.+?) -->\n)[\s\S]*?(<!-- end -->)/g;

/** docs/cost.md with its tables written again. @throws Error for a table of an unknown name */
export function costPage(page: string, inventory: Inventory): string {
  const months = scenarios.map(({ month }) => monthOf(inventory, { ...month, days: inventory.outboxDays }));
  const names = scenarios.map(({ name }) => name);
  const tables: Readonly<Record<string, () => Table>> = {
    services: () => servicesOf(months, names),
    templates: () => inventoryTable(inventory),
    missing: () => ({ titles: ['no price was found'], rows: missingIn(months).map((line) => [line]) }),
  };
  return page.replace(table, (_, begin: string, name: string, end: string) => {
    const made = tables[name]?.();
    if (!made) throw new Error(`there is no table ${name}`);
    return `${begin}${markdown(made)}${end}`;
  });
}
