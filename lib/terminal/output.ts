import { styleText } from 'node:util';
import stringWidth from 'fast-string-width';
import { notShown, printable } from '../common/text.ts';
import type { Terminal } from './terminal.ts';

export { counted, formatBytes, formatDuration } from '../common/text.ts';
export { printable };

/** Where a command writes its results and remarks. */
export interface Output {
  readonly json: boolean;
  /** Styles for standard output. */
  readonly style: Style;
  /** One result: a JSON object on one line with `--json`, else the text. On standard output. */
  result(record: object, text: string): void;
  /** Results in columns that fit the terminal, made printable; with `--json` one object per line. On standard output. */
  table<Row extends object>(columns: Columns<Row>, rows: readonly Row[]): void;
  /** A remark for people, on standard error; none with `--quiet`. */
  note(text: string): void;
  /** Something that the user should change, on standard error, also with `--quiet`. */
  warn(text: string): void;
}

const linesAtOnce = 1000;

/** @param around runs writes to the terminal while progress is hidden */
export function createOutput(
  terminal: Terminal,
  options: { readonly json: boolean; readonly quiet: boolean },
  around: (write: () => void) => void = (write) => write(),
): Output {
  const style = createStyle(terminal, terminal.outputIsTerminal);
  const warning = createStyle(terminal, terminal.isTerminal).doubtful('warning:');
  const write = (text: string) => around(() => terminal.write(`${text}\n`));
  const report = (text: string) => around(() => terminal.report(`${text}\n`));
  return {
    json: options.json,
    style,
    result(record, text) {
      write(options.json ? jsonLine(record) : text);
    },
    table(columns, rows) {
      if (rows.length === 0) return;
      const width = terminal.outputIsTerminal ? terminal.size()?.columns : undefined;
      const cells = (row: (typeof rows)[number]) => columns.map(([, cell]) => printable(cell(row) ?? ''));
      const lines = options.json ? rows.map(jsonLine) : formatTable(columns, rows.map(cells), width, style.strong);
      // Many at once: a write for each takes as long as all the rest.
      for (let at = 0; at < lines.length; at += linesAtOnce) write(lines.slice(at, at + linesAtOnce).join('\n'));
    },
    note(text) {
      if (!options.quiet) report(text);
    },
    warn(text) {
      report(`${warning} ${text}`);
    },
  };
}

/** A value as JSON on one line, safe for a terminal: control and invisible characters are escaped. */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value).replace(notShown, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}

/** Styles by meaning. A colour is never the only sign of it. */
export type Style = ReturnType<typeof createStyle>;

/**
 * Colours on a terminal, unless it is dumb or `NO_COLOR` is set and not empty (no-color.org).
 * @param isTerminal whether the stream that is written to is a terminal
 */
export function createStyle({ env }: Pick<Terminal, 'env'>, isTerminal: boolean) {
  const coloured = isTerminal && !env.NO_COLOR && env.TERM !== 'dumb';
  const as = (format: 'green' | 'red' | 'yellow' | 'bold' | 'dim') => (text: string) =>
    coloured ? styleText(format, text, { validateStream: false }) : text;
  return { good: as('green'), bad: as('red'), doubtful: as('yellow'), strong: as('bold'), faint: as('dim') };
}

/** The columns of a table: title, and the text for a row. */
export type Columns<Row> = readonly (readonly [
  title: string,
  cell: (row: Row) => string | null | undefined,
  align?: 'right',
])[];

/** Between two columns. */
const gap = '  ';

/**
 * Rows under their titles, in columns. When a row does not fit, its last cells go below it, each with its title. If that would
 * be half of them or more, all but the first go there. Cells are never cut, because users copy names.
 * @param width columns of the terminal; `undefined`: no limit
 * @param strong makes the line of titles stand out
 */
export function formatTable(
  columns: readonly (readonly [title: string, cell: unknown, align?: 'right'])[],
  rows: readonly (readonly string[])[],
  width: number | undefined,
  strong: (line: string) => string = (line) => line,
): string[] {
  const titles = columns.map(([title]) => title);
  // Math.max with one argument per row fails for many rows.
  const widths = titles.map((title, index) =>
    rows.reduce((widest, row) => Math.max(widest, stringWidth(row[index] ?? '')), stringWidth(title)),
  );
  const needed = (count: number) => widths.slice(0, count).reduce((sum, each) => sum + gap.length + each, -gap.length);
  const fitting = widths.filter((_, index) => width === undefined || needed(index + 1) <= width).length;
  const beside = fitting > columns.length / 2 ? fitting : 1;
  const line = (row: readonly string[]) =>
    columns
      .slice(0, beside)
      .map(([, , align], index) => {
        const cell = row[index] ?? '';
        const space = ' '.repeat(Math.max(0, (widths[index] ?? 0) - stringWidth(cell)));
        return align === 'right' ? space + cell : cell + space;
      })
      .join(gap)
      .trimEnd();
  const below = (row: readonly string[]) =>
    titles.slice(beside).flatMap((title, index) => {
      const cell = row[beside + index] ?? '';
      return cell === '' ? [] : [`  ${title}: ${cell}`];
    });
  const isTable = beside > 1 || columns.length === 1;
  return [...(isTable ? [strong(line(titles))] : []), ...rows.flatMap((row) => [line(row), ...below(row)])];
}

/** Facts for people, made printable, a line for each that has a value. @param width cells of a name and its gap */
export function formatFacts(facts: readonly (readonly [string, string | null | undefined])[], width: number): string {
  return facts.flatMap(([name, value]) => (value ? `${name.padEnd(width)}${printable(value)}` : [])).join('\n');
}
