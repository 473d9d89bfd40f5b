import type { Terminal } from './terminal.ts';

/** Where a command puts what it has to say. */
export interface Output {
  /** One result: a JSON object on one line with `--json`, else the text. On standard output. */
  result(record: Readonly<Record<string, unknown>>, text: string): void;
  /** A remark for people, on standard error. */
  note(text: string): void;
}

export function createOutput(terminal: Terminal, options: { readonly json: boolean }): Output {
  return {
    result(record, text) {
      terminal.write(`${options.json ? jsonLine(record) : text}\n`);
    },
    note(text) {
      terminal.report(`${text}\n`);
    },
  };
}

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** A size in bytes for people: `70.0 MiB`. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return unit === 0 ? `${bytes} B` : `${value.toFixed(1)} ${units[unit]}`;
}

/** A duration in milliseconds for people: `640 ms`, `3.2 s`, `4 min 05 s`, `2 h 10 min`. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 60_000) return `${(milliseconds / 1000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1000);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${String(seconds % 60).padStart(2, '0')} s`;
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, '0')} min`;
}

/** What a terminal obeys or does not show: controls, bidi and other format characters, line separators, invisible ones. */
const notShown = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** Text from elsewhere, made safe for a terminal: such characters are shown, not obeyed. */
export function printable(text: string): string {
  return text.replace(notShown, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}

/** A value as JSON on one line, which may hold text from elsewhere and go to a terminal: such characters are escaped. */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value).replace(notShown, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
