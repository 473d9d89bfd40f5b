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
import { type ExportOrder, findOrder, LostAnswerError, orderDigest, readOrder, sendOrder } from './export-order.ts';
import { shortfallOf } from './export-state.ts';
import { recordedState } from './wait.ts';

export interface BatchOptions {
  readonly path: string;
  readonly kind: string;
  /** Whether nothing is sent, and nothing is written. */
  readonly dryRun: boolean;
  /** Connects to the service. A dry run does so only for rows that an earlier run sent. */
  readonly connect: () => Promise<ProxyApi>;
  readonly proxyUrl: URL | undefined;
  readonly terminal: Terminal;
  readonly progress: Pick<Progress, 'counter'>;
  /** Called with the outcome of each row, in their order. */
  readonly onResult: (result: BatchResult) => void;
}

/** Why a row failed. */
export type RowError = ClientError | UsageError;

/** The outcome of a row. */
export interface BatchResult {
  readonly row: BatchRow;
  readonly outcome: 'accepted' | 'accepted-before' | 'same' | 'would-send' | 'failed';
  readonly requestId?: string | undefined;
  /** With `accepted-before`: when an earlier run sent the order, in ISO 8601. */
  readonly time?: string;
  /** With `same`: line of the row that orders the same. */
  readonly sameAs?: number;
  readonly order?: ExportOrder;
  /** With `accepted-before`: the state of that export. Absent if the service cannot report it. */
  readonly shown?: ShownExport | undefined;
  /** With `accepted` and `would-send`: the export of an earlier run, which came to less than complete. */
  readonly former?: ShownExport | undefined;
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
 * Sends the orders of a batch, one after the other, and writes the outcomes as CSV beside the batch. What an earlier run sent is sent
 * again only if the service says that it came to less than complete.
 * @returns the error of the whole run; `undefined` when every row is accepted
 * @throws UsageError, ClientError about the batch itself
 */
export async function runBatch(options: BatchOptions): Promise<RowError | undefined> {
  const { kind, dryRun, proxyUrl, terminal, progress, onResult } = options;
  const { signal } = terminal;
  const path = resolve(terminal.folder, options.path);
  const rows = await readBatch(path);
  let connected: Promise<ProxyApi> | undefined;
  const service = () => {
    connected ??= options.connect();
    return connected;
  };
  if (!dryRun) await service();
  await using journal = await openJournal(path, { readOnly: dryRun });
  const counter = progress.counter('exports', rows.length);
  const results: BatchResult[] = [];
  /** Line of the first row with an order, by its digest. */
  const lines = new Map<string, number>();
  const here = { ...terminal, folder: dirname(path) };
  const sources = { visa: 'visa', publicKey: 'public_key' };
  let stop: BatchResult | undefined;

  /** Sends an order, unless it is complete or under way. @throws ClientError, UsageError */
  const send = async (row: BatchRow, order: ExportOrder, digest: string): Promise<BatchResult> => {
    const before = journal.sent(digest);
    const earlier = before
      ? (before.requestId ?? (await findOrder(await service(), order, before.time, signal)))
      : undefined;
    const shown =
      earlier === undefined ? undefined : await recordedState(await service(), { requestId: earlier, kind }, signal);
    if (before && earlier !== undefined && !(shown && shortfallOf(shown))) {
      return { row, order, outcome: 'accepted-before', requestId: earlier, time: before.time, shown };
    }
    const known = { row, order, former: shown };
    if (dryRun) return { ...known, outcome: 'would-send' };
    const { line, id } = row;
    await journal.append({ digest, line, id, outcome: 'sending' }, terminal.now());
    const { requestId } = await sendOrder(await service(), order, signal).catch(async (error: unknown) => {
      const isLost = error instanceof LostAnswerError;
      if (error instanceof ClientError && error.code !== 'interrupted' && !isLost) {
        await journal.append({ digest, line, id, outcome: 'refused', message: error.message }, terminal.now());
      }
      throw error;
    });
    await journal.append({ digest, line, id, outcome: 'accepted', requestId }, terminal.now());
    return { ...known, outcome: 'accepted', requestId };
  };
  const outcomeOf = async (row: BatchRow): Promise<BatchResult> => {
    let order: ExportOrder | undefined;
    try {
      if (row.fault) throw row.fault;
      order = await readOrder({ ...row, kind }, sources, here);
      const digest = orderDigest(order, proxyUrl);
      const sameAs = lines.get(digest);
      if (sameAs !== undefined) return { row, outcome: 'same', sameAs, order };
      lines.set(digest, row.line);
      return await send(row, order, digest);
    } catch (error) {
      if (!(error instanceof ClientError || error instanceof UsageError)) throw error;
      return { row, outcome: 'failed', error, ...(order && { order }) };
    }
  };

  try {
    for (const row of rows) {
      const result = await outcomeOf(row);
      results.push(result);
      counter.add(1);
      const { error, order } = result;
      // An interrupted row has no known outcome.
      if (error?.code !== 'interrupted') onResult(result);
      if (error?.code === 'interrupted' || (error && order && stopping.has(error.code))) {
        stop = result;
        break;
      }
    }
  } finally {
    counter.end();
  }
  if (!dryRun) await writeResults(path, results);
  if (stop?.error?.code === 'interrupted') return stop.error;
  const errors = results.flatMap(({ error }) => error ?? []);
  return summed(errors, rows.length, stop);
}

/** Replaces `<batch>.results.csv` with the outcomes of this run. @throws LocalDiskError */
async function writeResults(batch: string, results: readonly BatchResult[]): Promise<void> {
  const rows = results.map((result) => {
    const { row, requestId = '', time = '', sameAs, shown, error } = result;
    const outcome = sameAs === undefined ? result.outcome : `same as line ${sameAs}`;
    const { line, id, type } = row;
    const state = [shown?.state ?? '', shown?.reason ?? '', error?.message ?? ''];
    return [`${line}`, id, type === 'fileId' ? 'file' : 'dataset', outcome, requestId, time, ...state];
  });
  const path = `${batch}.results.csv`;
  const columns = ['line', 'id', 'type', 'outcome', 'request_id', 'queued_before', 'state', 'reason', 'error'];
  await onDisk(path, () => writeFile(path, formatCsv([columns, ...rows]), { mode: 0o600 }));
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
    remedy: 'Correct them and run the same command again: what is complete or in progress is not sent again.',
    cause: first,
  });
}
