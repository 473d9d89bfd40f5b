import { CsvError, parse } from 'csv-parse/sync';
import { type UsageError, usageError } from '../../terminal/errors.ts';
import { readSmallFile } from '../secrets.ts';

/** A row of a batch. */
export interface BatchRow {
  /** Line in the file, counted from 1. */
  readonly line: number;
  readonly id: string;
  readonly type: 'datasetId' | 'fileId';
  /** Paths, relative to the folder of the batch. */
  readonly visa: string;
  readonly publicKey: string;
  /** Why this row cannot be sent. The others can. */
  readonly fault?: UsageError;
}

const required = ['id', 'visa', 'public_key'] as const;
const optional = ['type', 'comment'] as const;
const known: readonly string[] = [...required, ...optional];

/** The service's spellings: `DATASET_ID` and `datasetId` are the same. */
const types: Readonly<Record<string, BatchRow['type']>> = {
  '': 'datasetId',
  datasetid: 'datasetId',
  dataset_id: 'datasetId',
  fileid: 'fileId',
  file_id: 'fileId',
};

/** Bytes. A batch of 100,000 rows is far smaller. */
const maxBytes = 32 * 1024 * 1024;

/**
 * The rows of a CSV file (RFC 4180, in UTF-8, with commas or semicolons). Its first line names the columns `id`,
 * `visa`, `public_key`, and optionally `type` (default: a dataset) and `comment`. Empty lines are skipped.
 * @throws UsageError about the file as a whole; ClientError `not_found`
 */
export async function readBatch(path: string): Promise<readonly BatchRow[]> {
  const bytes = await readSmallFile('--batch', path, maxBytes);
  let records: { info: { lines: number; error?: CsvError }; record: Record<string, string> }[];
  try {
    records = parse(bytes, {
      bom: true,
      columns: (names: string[]) => columnsOf(path, names),
      delimiter: [',', ';'],
      info: true,
      relax_column_count: true,
      skip_empty_lines: true,
      trim: true,
    });
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw usageError('--batch', `${path}, line ${String(error.lines ?? '?')}: ${problemOf(error)}`);
  }
  if (records.length === 0) throw usageError('--batch', `${path} has no rows`);
  return records.map(({ info, record }) => row(info.lines, record, info.error));
}

function columnsOf(path: string, names: readonly string[]): string[] {
  const columns = names.map((name) => name.toLowerCase());
  const missing = required.filter((name) => !columns.includes(name));
  const unknown = columns.filter((name) => !known.includes(name));
  const twice = columns.filter((name, index) => columns.indexOf(name) !== index);
  const remedy = 'The first line names the columns: id,type,visa,public_key; type and comment may be missing.';
  if (missing.length > 0) throw usageError('--batch', `${path} has no column ${missing.join(', ')}`, remedy);
  if (unknown.length > 0) throw usageError('--batch', `${path} has an unknown column ${unknown.join(', ')}`, remedy);
  if (twice.length > 0) throw usageError('--batch', `${path} has the column ${twice.join(', ')} twice`, remedy);
  return columns;
}

function row(line: number, record: Readonly<Record<string, string>>, error: CsvError | undefined): BatchRow {
  const { id = '', visa = '', public_key: publicKey = '' } = record;
  const type = types[(record.type ?? '').toLowerCase()];
  const empty = required.find((name) => !record[name]);
  const fault = error
    ? problemOf(error)
    : empty !== undefined
      ? `${empty} is empty`
      : type === undefined
        ? 'type is neither datasetId nor fileId'
        : undefined;
  return {
    line,
    id,
    type: type ?? 'datasetId',
    visa,
    publicKey,
    ...(fault !== undefined && { fault: usageError('--batch', `line ${line}: ${fault}`) }),
  };
}

/** In place of the parser's message, which quotes the line: a secret may have been pasted there. */
function problemOf({ code }: CsvError): string {
  if (code.startsWith('CSV_RECORD_INCONSISTENT')) return 'another number of values than the first line has';
  if (code.includes('QUOTE')) return 'quotes are not in pairs';
  return 'this is not CSV';
}
