import { open, readFile, rename, truncate, writeFile } from 'node:fs/promises';
import { formatCsv, parseCsv } from '../../../terminal/csv.ts';
import { ifThere, LocalDiskError, onDisk } from '../../api/download/disk/local-disk.ts';
import { FileLock } from '../../api/download/disk/lock.ts';

const columns = ['line', 'id', 'type', 'outcome', 'request_id', 'time', 'state', 'reason', 'error', 'order'] as const;

/**
 * A row of the results. `order` is its `orderDigest`, empty for a row without an order. `time` is when it was sent, in ISO 8601.
 * With the outcome `sending`, the answer was lost, or the run was killed.
 */
export type ResultRow = Readonly<Record<(typeof columns)[number], string>>;

/**
 * The results of a batch, as CSV beside it: what each order came to, for people and for the next run. It contains no visa and no
 * password.
 * @param options.readOnly nothing is made or written
 * @throws LocalDiskError; UsageError for a file that is not such a table
 */
export async function openResults(batchPath: string, { readOnly }: { readonly readOnly: boolean }) {
  const path = `${batchPath}.results.csv`;
  const linesOf = (rows: readonly ResultRow[]) => formatCsv(rows.map((row) => columns.map((name) => row[name])));
  const head = formatCsv([columns]);
  const text = await onDisk(path, async () => (await ifThere(readFile(path, 'utf8'))) ?? '');
  // A killed run can leave half a line.
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  const rows = new Map<string, ResultRow>();
  if (whole.length > head.length) {
    const form = { source: '--batch', path, required: columns, optional: [] };
    for (const { values } of parseCsv(Buffer.from(whole), form)) {
      if (values.order) rows.set(values.order, values as ResultRow);
    }
  }
  const file = readOnly ? undefined : await onDisk(path, () => open(path, 'a', 0o600)).catch(explained);
  if (file && whole !== text) await onDisk(path, () => truncate(path, Buffer.byteLength(whole)));
  const append = async (line: string) => {
    await onDisk(path, async () => {
      await file?.appendFile(line);
      await file?.datasync();
    });
  };
  if (whole === '') await append(head);
  return {
    of: (order: string) => rows.get(order),

    /** Notes a row. It is on the disk when this resolves. @throws LocalDiskError */
    async note(row: ResultRow): Promise<void> {
      rows.set(row.order, row);
      await append(linesOf([row]));
    },

    /** Replaces the notes by one row for each of the batch. Orders that are no longer in it stay. @throws LocalDiskError */
    async finish(results: readonly ResultRow[]): Promise<void> {
      if (readOnly) return;
      const shown = new Set(results.map(({ order }) => order));
      const others = [...rows.values()].filter(({ order }) => !shown.has(order));
      await onDisk(path, async () => {
        await writeFile(`${path}.new`, head + linesOf([...results, ...others]), { mode: 0o600, flush: true });
        await rename(`${path}.new`, path);
      });
    },

    [Symbol.asyncDispose]: async () => await file?.close(),
  };
}

/** Keeps other runs of a batch off it: together they would send rows twice. @throws LocalDiskError if there is another run */
export async function lockResults(batchPath: string): Promise<FileLock> {
  return await FileLock.acquire(`${batchPath}.results.csv.lock`).catch(explained);
}

function explained(error: unknown): never {
  // Without a cause, it is not an error of the disk: another run has the lock.
  if (!(error instanceof LocalDiskError) || error.cause === undefined) throw error;
  const remedy =
    'It is written beside the CSV file: copy that file, its visas and keys to a folder where you can write.';
  throw new LocalDiskError(`the results of the batch: ${error.message}`, { remedy, cause: error });
}
