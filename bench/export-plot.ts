import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Compared, Cost } from './export.ts';

/** Figures of a run (`BENCH_EXPORT_JSON`), and the picture that `node bench/export-plot.ts` makes of them. */
export const figuresFile = join(import.meta.dirname, '../docs/performance/export.json');
export const plotFile = join(import.meta.dirname, '../docs/performance/export.svg');

const panel = { width: 300, height: 220, left: 70, top: 40, gap: 90 };

interface Axis {
  readonly title: string;
  readonly of: (cost: Cost) => number;
  readonly ticks: readonly number[];
  readonly label: (value: number) => string;
}

const axes: readonly Axis[] = [
  {
    title: 'bytes into the process',
    of: ({ received }) => received,
    ticks: [1e3, 1e5, 1e7, 1e9],
    label: decimalBytes,
  },
  {
    title: 'processor time, ms',
    of: ({ cpuMilliseconds }) => cpuMilliseconds,
    ticks: [1, 10, 100, 1000, 10_000],
    label: String,
  },
];

const sizeTicks = [1e3, 1e6, 1e9];

/** Both figures against the size of a file, as SVG. Both scales are logarithmic. Colours follow the reader's scheme. */
export function exportPlot(figures: readonly Compared[]): string {
  const width = panel.left + 2 * panel.width + panel.gap + 20;
  const height = panel.top + panel.height + 70;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" font-family="sans-serif" font-size="12">
<title>Staging against copying through the process: bytes and processor time by size of the file</title>
<style>
svg{--staged:#0969da;--straight:#bc4c00;--axis:#8c959f;--text:#24292f}
@media(prefers-color-scheme:dark){svg{--staged:#58a6ff;--straight:#f0883e;--axis:#6e7681;--text:#e6edf3}}
text{fill:var(--text)}.axis{stroke:var(--axis)}
polyline{fill:none;stroke-width:2}polyline.staged{stroke:var(--staged)}polyline.straight{stroke:var(--straight)}
circle.staged{fill:var(--staged)}circle.straight{fill:var(--straight)}
</style>
${axes.map((axis, index) => drawPanel(axis, panel.left + index * (panel.width + panel.gap), figures)).join('\n')}
${legend('staged', 'stage-file', panel.left, height - 12)}
${legend('straight', 'straight: the whole body through the process', panel.left + 130, height - 12)}
</svg>
`;
}

function drawPanel({ title, of, ticks, label }: Axis, left: number, figures: readonly Compared[]): string {
  const bottom = panel.top + panel.height;
  const x = logScale([500, 2e9], [left, left + panel.width]);
  const y = logScale([(ticks[0] ?? 1) / 2, (ticks.at(-1) ?? 1) * 2], [bottom, panel.top]);
  const line = (name: 'staged' | 'straight') => {
    const points = figures.map((figure) => `${x(figure.plaintextBytes)},${y(of(figure[name]))}`);
    const dots = points.map((point) => `<circle class="${name}" cx="${point.replace(',', '" cy="')}" r="3"/>`);
    return `<polyline class="${name}" points="${points.join(' ')}"/>${dots.join('')}`;
  };
  return [
    `<text x="${left}" y="${panel.top - 16}" font-weight="bold">${title}</text>`,
    `<path class="axis" fill="none" d="M${left} ${panel.top}V${bottom}H${left + panel.width}"/>`,
    ...ticks.map((tick) => `<text x="${left - 6}" y="${y(tick) + 4}" text-anchor="end">${label(tick)}</text>`),
    ...sizeTicks.map(
      (tick) => `<text x="${x(tick)}" y="${bottom + 18}" text-anchor="middle">${decimalBytes(tick)}</text>`,
    ),
    line('straight'),
    line('staged'),
  ].join('\n');
}

function legend(name: string, text: string, left: number, top: number): string {
  return `<circle class="${name}" cx="${left}" cy="${top - 4}" r="4"/><text x="${left + 10}" y="${top}">${text}</text>`;
}

function decimalBytes(bytes: number): string {
  const units: readonly (readonly [number, string])[] = [
    [1e9, 'GB'],
    [1e6, 'MB'],
    [1e3, 'KB'],
  ];
  const [unit, name] = units.find(([unit]) => bytes >= unit) ?? [1, 'B'];
  return `${bytes / unit} ${name}`;
}

if (import.meta.main) writeFileSync(plotFile, exportPlot(JSON.parse(readFileSync(figuresFile, 'utf8'))));

/** Positions on a logarithmic scale: `from` at `start`, `to` at `end`, to a tenth. */
function logScale([from, to]: readonly [number, number], [start, end]: readonly [number, number]) {
  return (value: number): number => {
    const share = Math.log(Math.max(value, from) / from) / Math.log(to / from);
    return Math.round((start + share * (end - start)) * 10) / 10;
  };
}
