import type { Inventory } from './inventory.ts';
import { compare } from './report.ts';

const area = { left: 70, top: 20, width: 520, height: 300 };
const gibTicks: readonly (readonly [number, string])[] = [
  [1, '1 GiB'],
  [10, '10'],
  [100, '100'],
  [1024, '1 TiB'],
  [10_240, '10'],
  [102_400, '100'],
  [1_048_576, '1 PiB'],
];
const usdTicks = [10, 100, 1000, 10_000, 100_000];
const lines = ['service', 'once', 'twice', 'nat', 'machine'] as const;
/** GiB of the usual file, 100 MB. */
const file = 1e8 / 2 ** 30;

/** What a month costs against what is exported and downloaded in it, as SVG. Both scales are logarithmic. */
export function costPlot(inventory: Inventory, secondsPerGib: number): string {
  const x = logScale([1, 1_048_576], [area.left, area.left + area.width]);
  const y = logScale([10, 250_000], [area.top + area.height, area.top]);
  const points = Array.from({ length: 41 }, (_, index) => 2 ** (index / 2));
  const months = points.map((gib) => {
    const workload = { exports: 1, gib, files: Math.max(1, gib / file), downloads: 1, days: inventory.outboxDays };
    const { service, servers } = compare(inventory, workload, secondsPerGib);
    return {
      gib,
      totals: [service.total, ...servers.map(({ bill }) => bill.total)],
      names: servers.map(({ name }) => name),
    };
  });
  const names = ['this service', ...(months[0]?.names ?? [])];
  const line = (name: string, index: number) =>
    `<polyline class="${name}" points="${months.map(({ gib, totals }) => `${x(gib)},${y(totals[index] ?? 1)}`).join(' ')}"/>`;
  const bottom = area.top + area.height;
  const height = bottom + 50 + 18 * lines.length;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${area.left + area.width + 30} ${height}" role="img" font-family="sans-serif" font-size="12">
<title>USD a month against GiB exported and downloaded in it</title>
<style>
svg{--service:#0969da;--once:#bc4c00;--twice:#1a7f37;--nat:#cf222e;--machine:#8250df;--axis:#8c959f;--text:#24292f}
@media(prefers-color-scheme:dark){svg{--service:#58a6ff;--once:#f0883e;--twice:#3fb950;--nat:#f85149;--machine:#bc8cff;--axis:#6e7681;--text:#e6edf3}}
text{fill:var(--text)}.axis{stroke:var(--axis)}polyline{fill:none;stroke-width:2}
${lines.map((name) => `polyline.${name}{stroke:var(--${name})}circle.${name}{fill:var(--${name})}`).join('\n')}
</style>
<path class="axis" fill="none" d="M${area.left} ${area.top}V${bottom}H${area.left + area.width}"/>
${usdTicks.map((tick) => `<text x="${area.left - 6}" y="${y(tick) + 4}" text-anchor="end">${tick.toLocaleString('en-US')}</text>`).join('\n')}
${gibTicks.map(([tick, label]) => `<text x="${x(tick)}" y="${bottom + 18}" text-anchor="middle">${label}</text>`).join('\n')}
<text x="${area.left + 6}" y="${area.top + 4}">USD a month</text>
${lines.map(line).join('\n')}
${lines.map((name, index) => `<circle class="${name}" cx="${area.left}" cy="${bottom + 42 + 18 * index}" r="4"/><text x="${area.left + 10}" y="${bottom + 46 + 18 * index}">${names[index]}</text>`).join('\n')}
</svg>
`;
}

/** A logarithmic scale, in tenths of a pixel. Smaller values stand at its beginning. */
export function logScale([from, to]: readonly [number, number], [start, end]: readonly [number, number]) {
  return (value: number): number => {
    const share = Math.log(Math.max(value, from) / from) / Math.log(to / from);
    return Math.round((start + share * (end - start)) * 10) / 10;
  };
}
