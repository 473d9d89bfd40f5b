import { CsvError, parse } from 'csv-parse/sync';
import { usageError } from './errors.ts';

export interface CsvForm {
  /** Option that names the file, for errors. */
  readonly source: string;
  /** Name of the file, for errors. */
  readonly path: string;
  readonly required: readonly string[];
  readonly optional: readonly string[];
}

/** A row with the values of its columns. A column that the file does not have is missing. */
export interface CsvRow {
  /** Line in the file, counted from 1. */
  readonly line: number;
  readonly values: Readonly<Record<string, string | undefined>>;
  /** Why this row cannot be used, without quoting a value of it. */
  readonly fault?: string;
}

/**
 * The rows of a CSV file (RFC 4180, in UTF-8, with commas or semicolons). Its first line names the columns, in any order and in
 * any case. Empty lines are skipped, and spaces around a value are dropped. A row with another number of values than the first
 * line gets a `fault`.
 * @throws UsageError about the file as a whole. It names the line and no value: it could be a pasted secret
 */
export function parseCsv(bytes: Uint8Array, form: CsvForm): readonly CsvRow[] {
  const { source, path } = form;
  let records: { info: { lines: number; error?: CsvError }; record: Record<string, string> }[];
  try {
    records = parse(bytes, {
      bom: true,
      columns: (names: string[]) => columnsOf(form, names),
      delimiter: [',', ';'],
      info: true,
      relax_column_count: true,
      skip_empty_lines: true,
      trim: true,
    });
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw usageError(source, `${path}, line ${String(error.lines ?? '?')}: ${problemOf(error)}`);
  }
  if (records.length === 0) throw usageError(source, `${path} has no rows`);
  return records.map(({ info: { lines: line, error }, record: values }) =>
    error ? { line, values, fault: problemOf(error) } : { line, values },
  );
}

function columnsOf({ source, path, required, optional }: CsvForm, names: readonly string[]): string[] {
  const columns = names.map((name) => name.toLowerCase());
  const known = [...required, ...optional];
  const missing = required.filter((name) => !columns.includes(name));
  const unknown = columns.filter((name) => !known.includes(name));
  const twice = columns.filter((name, index) => columns.indexOf(name) !== index);
  const remedy = `The first line names the columns: ${required.join(',')}; ${optional.join(', ')} may be missing.`;
  if (missing.length > 0) throw usageError(source, `${path} has no column ${missing.join(', ')}`, remedy);
  if (unknown.length > 0) throw usageError(source, `${path} has an unknown column ${unknown.join(', ')}`, remedy);
  if (twice.length > 0) throw usageError(source, `${path} has the column ${twice.join(', ')} twice`, remedy);
  return columns;
}

/** Replaces the parser's message, which quotes the line. */
function problemOf({ code }: CsvError): string {
  if (code.startsWith('CSV_RECORD_INCONSISTENT')) return 'another number of values than the first line has';
  if (code.includes('QUOTE')) return 'quotes are not in pairs';
  return 'this is not CSV';
}

/** CSV (RFC 4180). A cell that a spreadsheet would take for a formula gets a `'` in front. */
export function formatCsv(rows: readonly (readonly string[])[]): string {
  return rows.map((cells) => `${cells.map(cellOf).join(',')}\r\n`).join('');
}

function cellOf(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",;\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
