import { cpus, totalmem } from 'node:os';

/** A figure that docs/performance.md shows. */
export interface Headline {
  readonly what: string;
  readonly value: string;
  /** What the project promises. */
  readonly target?: { readonly text: string; readonly holds: boolean };
}

/** Where a suite puts what it has measured. */
export interface Report {
  /** A paragraph of Markdown. */
  text(markdown: string): void;
  /** A Markdown table. The first column is text, the others are figures. */
  table(columns: readonly string[], rows: readonly (readonly (string | number)[])[]): void;
  headline(figure: Headline): void;
}

/** A suite: measures, and reports ratios to a reference of the same run. */
export type Suite = (report: Report) => Promise<void>;

/** @param headlines get each headline, in its order */
export function createReport(write: (markdown: string) => void, headlines: Headline[]): Report {
  return {
    text: (markdown) => write(`${markdown}\n\n`),
    table(columns, rows) {
      const line = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |\n`;
      write(line(columns) + line(columns.map((_, index) => (index === 0 ? '---' : '--:'))));
      write(`${rows.map(line).join('')}\n`);
    },
    headline(figure) {
      headlines.push(figure);
      write(`${figure.what}: **${figure.value}**${verdictOf(figure)}\n\n`);
    },
  };
}

/** `, ≥ 1.5 × is met`, or empty without a target. */
function verdictOf({ target }: Headline): string {
  return target ? `, ${target.text} is ${target.holds ? 'met' : '**not met**'}` : '';
}

/** The machine in neutral words. */
export function machine(): string {
  const memory = Math.round(totalmem() / 2 ** 30);
  return `${cpus().length} cores (${process.arch}), ${memory} GiB memory, Node ${process.versions.node}, ${process.platform}`;
}

/** The middle one of an odd number of figures. */
export function median(figures: readonly number[]): number {
  const sorted = [...figures].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** `1.23`, `12.3`, `123`: three significant digits. */
export function figure(value: number): string {
  if (value >= 100 || value === 0) return value.toFixed(0);
  return value.toPrecision(3);
}

export function ratio(value: number, reference: number): string {
  return `${figure(value / reference)} ×`;
}

export function atLeast(value: number, least: number, unit = ''): NonNullable<Headline['target']> {
  return { text: `≥ ${least}${unit}`, holds: value >= least };
}

export function atMost(value: number, most: number, unit = ''): NonNullable<Headline['target']> {
  return { text: `≤ ${most}${unit}`, holds: value <= most };
}

export function verdict(holds: boolean): string {
  return holds ? 'yes' : '**no**';
}
