import { dirname, resolve } from 'node:path';
import { ClientError } from '../../client/errors.ts';
import type { ProxyApi } from '../../client/proxy.ts';
import type { ShownExport } from '../../contract/export-state.ts';
import { UsageError } from '../../terminal/errors.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { type BatchRow, readBatch } from './batch-file.ts';
import { BatchJournal } from './batch-journal.ts';
import { type ExportOrder, orderDigest, readOrder, sendOrder } from './export-order.ts';
import { shortfallOf } from './export-state.ts';
import { recordedState } from './wait.ts';

export interface BatchOptions {
  readonly path: string;
  readonly kind: string;
  /** Whether orders that were accepted before are sent again. */
  readonly again: boolean;
  /** `undefined`: nothing is sent, and no journal is written. */
  readonly proxy: ProxyApi | undefined;
  readonly proxyUrl: URL | undefined;
  readonly terminal: Terminal;
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
  /** With an order that was sent before: time of that, ISO 8601. */
  readonly time?: string;
  readonly order?: ExportOrder;
  /** With an order that was sent before: what became of it. Absent if the service cannot tell. */
  readonly shown?: ShownExport | undefined;
  /** With `failed`. */
  readonly error?: RowError;
}

/** Codes of errors that every other row would meet, too. */
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
 * Sends the orders of a batch one after the other: the service takes a few a second.
 * @returns the error of the whole run; `undefined` when every row is accepted
 * @throws UsageError, ClientError about the batch itself
 */
export async function runBatch(options: BatchOptions): Promise<RowError | undefined> {
  const path = resolve(options.terminal.folder, options.path);
  const rows = await readBatch(path);
  await using journal = options.proxy && (await BatchJournal.open(path));
  const errors: RowError[] = [];
  for (const row of rows) {
    const result = await settle(row, { ...options, path }, journal);
    const { error } = result;
    // The outcome of a row that the user interrupted is not known.
    if (error?.code === 'interrupted') return error;
    options.onResult(result);
    if (error === undefined) continue;
    errors.push(error);
    if (result.order && !result.shown && stopping.has(error.code)) return summed(errors, rows.length, row);
  }
  return summed(errors, rows.length, undefined);
}

async function settle(row: BatchRow, options: BatchOptions, journal: BatchJournal | undefined): Promise<BatchResult> {
  const { path, kind, again, proxy, proxyUrl, terminal } = options;
  const { line, id, type, visa, publicKey } = row;
  let order: ExportOrder | undefined;
  try {
    if (row.fault) throw row.fault;
    const here = { ...terminal, folder: dirname(path) };
    const sources = { visa: 'visa', publicKey: 'public_key', fileRemedy: 'Write fileId in the column type.' };
    order = await readOrder({ id, type, kind, visa, publicKey }, sources, here);
    if (proxy === undefined || journal === undefined) return { row, outcome: 'would-send', order };
    const digest = orderDigest(order, proxyUrl);
    const before = again ? undefined : journal.accepted(digest);
    if (before) {
      const shown = await recordedState(proxy, { requestId: before.requestId, kind }, terminal.signal);
      const error = shown && shortfallOf(shown);
      const common = { row, ...before, order, shown };
      return error
        ? { ...common, outcome: 'failed', error: notSentAgain(error) }
        : { ...common, outcome: 'accepted-before' };
    }
    const { requestId } = await sendOrder(proxy, order, terminal.signal);
    await journal.append({ digest, line, id, outcome: 'accepted', requestId }, terminal.now());
    return { row, outcome: 'accepted', requestId, order };
  } catch (error) {
    if (!(error instanceof ClientError || error instanceof UsageError)) throw error;
    const { message } = error;
    if (error.code !== 'interrupted' && error.code !== 'local_disk') {
      const digest = order ? orderDigest(order, proxyUrl) : '';
      await journal?.append({ digest, line, id, outcome: 'failed', message }, terminal.now());
    }
    return { row, outcome: 'failed', error, ...(order && { order }) };
  }
}

function notSentAgain(error: ClientError): ClientError {
  return new ClientError(error.code, `${error.message}; not sent again`, {
    remedy: '--again sends all rows again.',
    cause: error,
  });
}

/** @param stoppedAt the last row that was tried, if the run stopped there */
function summed(errors: readonly RowError[], rows: number, stoppedAt: BatchRow | undefined): RowError | undefined {
  const [first] = errors;
  const last = errors.at(-1);
  if (first === undefined || last === undefined) return undefined;
  if (stoppedAt) {
    return new ClientError(last.code, `stopped at line ${stoppedAt.line}: ${last.message}`, {
      remedy: last.remedy,
      cause: last,
    });
  }
  const isAlike = errors.length === rows && errors.every(({ code }) => code === first.code);
  return new ClientError(isAlike ? first.code : 'partial', `${errors.length} of ${rows} rows were not accepted`, {
    remedy: 'Correct them and run the same command again: queued rows are not sent twice.',
    cause: first,
  });
}
