import { writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { ShownExport } from '../../../contract/export-state.ts';
import { formatCsv } from '../../../terminal/csv.ts';
import { UsageError } from '../../../terminal/errors.ts';
import type { Progress } from '../../../terminal/progress.ts';
import type { Terminal } from '../../../terminal/terminal.ts';
import { onDisk } from '../../api/download/disk/local-disk.ts';
import { ClientError } from '../../api/errors.ts';
import type { ProxyApi } from '../../api/proxy.ts';
import { type BatchRow, readBatch } from './batch-file.ts';
import { openJournal } from './batch-journal.ts';
import { type ExportOrder, orderDigest, readOrder, sendOrder } from './export-order.ts';
import { shortfallOf } from './export-state.ts';
import { recordedState } from './wait.ts';

export interface BatchOptions {
  readonly path: string;
  readonly kind: string;
  /** Whether accepted orders are sent again. */
  readonly again: boolean;
  /** `undefined`: nothing is sent, and no journal is written. */
  readonly proxy: ProxyApi | undefined;
  readonly proxyUrl: URL | undefined;
  readonly terminal: Terminal;
  /** Requests at once. */
  readonly parallel: number;
  readonly progress: Pick<Progress, 'counter'>;
  /** Called with the outcome of each row, in their order. */
  readonly onResult: (result: BatchResult) => void;
}

/** Why a row failed. */
export type RowError = ClientError | UsageError;

/** The outcome of a row. */
export interface BatchResult {
  readonly row: BatchRow;
  readonly outcome: 'accepted' | 'accepted-before' | 'would-send' | 'failed';
  readonly requestId?: string | undefined;
  /** When an earlier run sent the order, in ISO 8601. */
  readonly time?: string;
  readonly order?: ExportOrder;
  /** The outcome of an order of an earlier run. Absent if the service cannot report it. */
  readonly shown?: ShownExport | undefined;
  /** With `failed`. */
  readonly error?: RowError;
}

/** Codes of errors that every other row would also get. */
const stopping: ReadonlySet<string> = new Set([
  'unauthenticated',
  'forbidden',
  'not_found',
  'unavailable',
  'interrupted',
  'protocol',
  'local_disk',
]);

/**
 * Sends the orders of a batch, several at once, and writes the outcomes as CSV beside the batch.
 * @returns the error of the whole run; `undefined` when every row is accepted
 * @throws UsageError, ClientError about the batch itself
 */
export async function runBatch(options: BatchOptions): Promise<RowError | undefined> {
  const { kind, again, proxy, proxyUrl, terminal, parallel, progress, onResult } = options;
  const path = resolve(terminal.folder, options.path);
  const rows = await readBatch(path);
  await using journal = proxy && (await openJournal(path));
  const counter = progress.counter('exports', rows.length);
  const queue = rows.entries();
  const results: (BatchResult | undefined)[] = [];
  const orders = new Map<string, Promise<unknown>>();
  let reported = 0;
  let stop: BatchResult | undefined;
  const report = () => {
    const result = results[reported++];
    // An interrupted row has no known outcome.
    if (result && result.error?.code !== 'interrupted') onResult(result);
  };

  const read = ({ id, type, visa, publicKey }: BatchRow) => {
    const here = { ...terminal, folder: dirname(path) };
    const sources = { visa: 'visa', publicKey: 'public_key', fileRemedy: 'Write "file" in the column "type".' };
    return readOrder({ id, type, kind, visa, publicKey }, sources, here);
  };
  /** Sends an order, unless it was accepted before. @throws ClientError, UsageError */
  const send = async (row: BatchRow, order: ExportOrder, digest: string, to: ProxyApi): Promise<BatchResult> => {
    const before = again ? undefined : journal?.accepted(digest);
    if (before) {
      const shown = await recordedState(to, { requestId: before.requestId, kind }, terminal.signal);
      const error = shown && shortfallOf(shown);
      const common = { row, ...before, order, shown };
      return error
        ? { ...common, outcome: 'failed', error: notSentAgain(error) }
        : { ...common, outcome: 'accepted-before' };
    }
    const { requestId } = await sendOrder(to, order, terminal.signal);
    const { line, id } = row;
    await journal?.append({ digest, line, id, outcome: 'accepted', requestId }, terminal.now());
    return { row, outcome: 'accepted', requestId, order };
  };
  const outcomeOf = async (row: BatchRow): Promise<BatchResult> => {
    let order: ExportOrder | undefined;
    let digest = '';
    try {
      if (row.fault) throw row.fault;
      const wanted = await read(row);
      order = wanted;
      if (proxy === undefined) return { row, outcome: 'would-send', order };
      digest = orderDigest(order, proxyUrl);
      // A second row with the same order waits for the first, and finds it in the journal.
      const sent = Promise.resolve(orders.get(digest)).then(() => send(row, wanted, digest, proxy));
      orders.set(
        digest,
        sent.catch(() => undefined),
      );
      return await sent;
    } catch (error) {
      if (!(error instanceof ClientError || error instanceof UsageError)) throw error;
      const { line, id } = row;
      if (error.code !== 'interrupted' && error.code !== 'local_disk') {
        await journal?.append({ digest, line, id, outcome: 'failed', message: error.message }, terminal.now());
      }
      return { row, outcome: 'failed', error, ...(order && { order }) };
    }
  };

  const lane = async () => {
    for (const [index, row] of queue) {
      const result = await outcomeOf(row);
      results[index] = result;
      counter.add(1);
      while (results[reported]) report();
      const { error, order, shown } = result;
      if (error?.code === 'interrupted' || (error && order && !shown && stopping.has(error.code))) stop ??= result;
      if (stop) return;
    }
  };
  await Promise.all(Array.from({ length: parallel }, lane)).finally(counter.end);
  while (reported < rows.length) report();
  if (journal) await writeResults(path, results);
  if (stop?.error?.code === 'interrupted') return stop.error;
  const errors = results.flatMap((result) => result?.error ?? []);
  return summed(errors, rows.length, stop);
}

/** Replaces `<batch>.results.csv` with the outcomes of this run. @throws LocalDiskError */
async function writeResults(batch: string, results: readonly (BatchResult | undefined)[]): Promise<void> {
  const rows = results.flatMap((result) => {
    if (result === undefined) return [];
    const { row, outcome, requestId = '', time = '', shown, error } = result;
    const { line, id, type } = row;
    const state = [shown?.state ?? '', shown?.reason ?? '', error?.message ?? ''];
    return [[`${line}`, id, type === 'fileId' ? 'file' : 'dataset', outcome, requestId, time, ...state]];
  });
  const path = `${batch}.results.csv`;
  const columns = ['line', 'id', 'type', 'outcome', 'request_id', 'queued_before', 'state', 'reason', 'error'];
  await onDisk(path, () => writeFile(path, formatCsv([columns, ...rows]), { mode: 0o600 }));
}

function notSentAgain(error: ClientError): ClientError {
  return new ClientError(error.code, `${error.message}; not sent again`, {
    remedy: '--again sends all rows again.',
    cause: error,
  });
}

/** @param stop the row at which the run stopped */
function summed(errors: readonly RowError[], rows: number, stop: BatchResult | undefined): RowError | undefined {
  const [first] = errors;
  if (first === undefined) return undefined;
  if (stop?.error) {
    const { code, message, remedy } = stop.error;
    const what = `stopped at line ${stop.row.line}: ${message}`;
    return new ClientError(code, what, { remedy, cause: stop.error });
  }
  const isAlike = errors.length === rows && errors.every(({ code }) => code === first.code);
  return new ClientError(isAlike ? first.code : 'partial', `${errors.length} of ${rows} rows were not accepted`, {
    remedy: 'Correct them and run the same command again: queued rows are not sent twice.',
    cause: first,
  });
}
