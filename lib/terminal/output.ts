import { notShown } from '../contract/printable.ts';
import { createStyle, type Style } from './style.ts';
import { type Column, formatTable } from './table.ts';
import type { Terminal } from './terminal.ts';

export { counted, formatBytes, formatDuration } from '../contract/amounts.ts';
export { printable } from '../contract/printable.ts';

/** Where a command writes its results and remarks. */
export interface Output {
  readonly json: boolean;
  /** Whether remarks and progress are left out. */
  readonly quiet: boolean;
  /** For texts on standard output. */
  readonly style: Style;
  /** One result: a JSON object on one line with `--json`, else the text. On standard output. */
  result(record: object, text: string): void;
  /** Results in columns that fit the terminal; with `--json` one object a line. On standard output; nothing without rows. */
  table<T extends object>(columns: readonly Column[], rows: readonly T[], cells: (row: T) => readonly string[]): void;
  /** A remark for people, on standard error; not with `--quiet`. */
  note(text: string): void;
  /** Something that the user should change, on standard error, also with `--quiet`. */
  warn(text: string): void;
}

/** @param around runs what writes to the terminal while no progress is shown there */
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
    ...options,
    style,
    result(record, text) {
      write(options.json ? jsonLine(record) : text);
    },
    table(columns, rows, cells) {
      if (rows.length === 0) return;
      const width = terminal.outputIsTerminal ? terminal.size()?.columns : undefined;
      const lines = options.json ? rows.map(jsonLine) : formatTable(columns, rows.map(cells), width, style.strong);
      for (const line of lines) write(line);
    },
    note(text) {
      if (!options.quiet) report(text);
    },
    warn(text) {
      report(`${warning} ${text}`);
    },
  };
}

/** A value as JSON on one line, safe for a terminal: characters that it would obey or hide are escaped. */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value).replace(notShown, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
