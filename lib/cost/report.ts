import { type Bill, billOf } from './bill.ts';
import type { Inventory } from './inventory.ts';
import { type PriceLine, prices } from './prices.ts';
import { alternatives } from './server.ts';
import { serviceAmounts, type Workload } from './usage.ts';

/** Files of 100 MB, 1,000 of them in an export. */
const usual = { files: 1000, gib: 1e11 / 2 ** 30, downloads: 1 };

/** The months that the page and the command show when none is asked for: 0, 10 and 10,000 such exports. */
export const scenarios: readonly { readonly name: string; readonly month: Omit<Workload, 'days'> }[] = [
  { name: 'idle', month: { ...usual, exports: 0 } },
  { name: '1 TB', month: { ...usual, exports: 10 } },
  { name: '1 PB', month: { ...usual, exports: 10_000 } },
];

/** What a month costs with this service, and the same work by servers. */
export interface Comparison {
  readonly workload: Workload;
  readonly service: Bill;
  readonly servers: readonly { readonly name: string; readonly bill: Bill }[];
}

/** @param secondsPerGib as in {@link alternatives} */
export function compare(inventory: Inventory, workload: Workload, secondsPerGib: number): Comparison {
  return {
    workload,
    service: billOf(serviceAmounts(inventory, workload)),
    servers: alternatives(inventory, workload, secondsPerGib).map(({ name, amounts }) => ({
      name,
      bill: billOf(amounts),
    })),
  };
}

/** Titles and rows of text. */
export interface Table {
  readonly titles: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** One month by service. */
export function serviceTable({ service }: Comparison): Table {
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

/** One month, and servers beside it. */
export function serverTable({ service, servers }: Comparison): Table {
  return {
    titles: ['the same work', 'idle', 'use', 'total', 'of this service'],
    rows: [{ name: 'this service', bill: service }, ...servers].map(({ name, bill: { idle, use, total } }) => [
      name,
      ...[idle, use, total].map(usd),
      times(total / service.total),
    ]),
  };
}

/** Several months side by side, by service. */
export function servicesOf(months: readonly Comparison[], names: readonly string[]): Table {
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

/** Several months side by side, with servers. */
export function serversOf(months: readonly Comparison[], names: readonly string[]): Table {
  const [first] = months;
  return {
    titles: ['the same work', ...names],
    rows: [
      ['this service', ...months.map(({ service }) => usd(service.total))],
      ...(first?.servers ?? []).map(({ name }, index) => [
        name,
        ...months.map(({ servers }) => usd(servers[index]?.bill.total ?? 0)),
      ]),
    ],
  };
}

/** What the templates hold. */
export function inventoryTable(inventory: Inventory): Table {
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

/** The price table. */
export function priceTable(): Table {
  return {
    titles: ['service', 'item', 'USD', 'for', 'region', 'source, date'],
    rows: prices.map((line) => [
      line.service,
      line.item + (line.note ? ` (${line.note})` : ''),
      priceText(line),
      line.unit,
      line.region,
      line.source ? `[${new URL(line.source).host}](${line.source}), ${line.date}` : 'not found',
    ]),
  };
}

/** What has no price, in words; empty when nothing is missing. */
export function missingIn(months: readonly Comparison[]): readonly string[] {
  const lines = months.flatMap(({ service, servers }) => [service, ...servers.map(({ bill }) => bill)]);
  return [...new Set(lines.flatMap(({ missing }) => missing.map(({ service, item }) => `${service}: ${item}`)))];
}

/** USD of data that leaves AWS. */
export const egressOf = ({ services }: Bill): number =>
  services.find(({ service }) => service === 'Data transfer')?.total ?? 0;

export function markdown({ titles, rows }: Table): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |\n`;
  return [titles, titles.map((_, index) => (index === 0 ? '---' : '--:')), ...rows].map(line).join('');
}

/** From 1,000 on without cents. */
export function usd(amount: number): string {
  const digits = amount < 1000 ? 2 : 0;
  return amount.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

export const share = (part: number): string => `${Math.round(part * 100)} %`;

const times = (ratio: number): string => `${ratio.toFixed(2)} ×`;

function priceText({ usd: each, tiers }: PriceLine): string {
  if (!tiers) return each === null || each === undefined ? 'not found' : String(each);
  return tiers.map(({ upTo, usd: step }) => (upTo ? `${step} up to ${usd(upTo)}` : `${step} above`)).join(', ');
}
