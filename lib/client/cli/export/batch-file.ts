import { type CsvRow, parseCsv } from '../../../terminal/csv.ts';
import { UsageError } from '../../../terminal/errors.ts';
import { type OrderType, typeOf } from '../../api/order/order-rules.ts';
import { readSmallFile } from '../secrets.ts';

/** A row of a batch. */
export interface BatchRow {
  /** Line in the file, counted from 1. */
  readonly line: number;
  readonly id: string;
  readonly type: OrderType;
  /** Paths, relative to the folder of the batch. */
  readonly visa: string;
  readonly publicKey: string;
  /** Why this row cannot be sent. */
  readonly fault?: UsageError;
}

const required = ['id', 'visa', 'public_key'] as const;
const optional = ['type', 'comment'] as const;

/** Plain words, and the service's spellings: `DATASET_ID` and `datasetId` are the same. */
const types: ReadonlyMap<string, OrderType> = new Map([
  ['dataset', 'datasetId'],
  ['datasetid', 'datasetId'],
  ['dataset_id', 'datasetId'],
  ['file', 'fileId'],
  ['fileid', 'fileId'],
  ['file_id', 'fileId'],
]);

/** Bytes; far more than 100,000 rows need. */
const maxBytes = 32 * 1024 * 1024;

/**
 * The rows of a CSV file, see `parseCsv`: the columns `id`, `visa`, `public_key`, and optionally `type` (default: what
 * the id names by its form) and `comment`.
 * @throws UsageError about the file as a whole; ClientError `not_found`
 */
export async function readBatch(path: string): Promise<readonly BatchRow[]> {
  const bytes = await readSmallFile('--batch', path, maxBytes);
  return parseCsv(bytes, { source: '--batch', path, required, optional }).map(batchRow);
}

function batchRow({ line, values, fault }: CsvRow): BatchRow {
  const { id = '', visa = '', public_key: publicKey = '' } = values;
  const type = values.type ? types.get(values.type.toLowerCase()) : typeOf(id);
  const problem = fault ?? problemOf(values, type);
  return {
    line,
    id,
    type: type ?? 'datasetId',
    visa,
    publicKey,
    ...(problem !== undefined && { fault: new UsageError(problem) }),
  };
}

function problemOf(values: CsvRow['values'], type: OrderType | undefined): string | undefined {
  const empty = required.find((name) => !values[name]);
  if (empty !== undefined) return `${empty} is empty`;
  if (type === undefined) return 'type is neither dataset nor file';
  const { id = '' } = values;
  return type === 'datasetId' && typeOf(id) === 'fileId' ? `${id} is the id of a file, not of a dataset` : undefined;
}
