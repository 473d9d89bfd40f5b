import { dirname, resolve } from 'node:path';
import type { ShownExport } from '../../../contract/export-state.ts';
import { UsageError } from '../../../terminal/errors.ts';
import type { Progress } from '../../../terminal/progress.ts';
import type { Terminal } from '../../../terminal/terminal.ts';
import type { DeliveryApi } from '../../api/delivery-api.ts';
import { ClientError, UnavailableError } from '../../api/errors.ts';
import { type BatchRow, readBatch } from './batch-file.ts';
import { lockResults, openResults, type ResultRow } from './batch-results.ts';
import { recordedState, shortfallOf } from './describe-export.ts';
import { type ExportOrder, findOrder, orderDigest, readOrder, sendOrder } from './export-order.ts';

/** Why a row failed. */
type RowError = ClientError | UsageError;

/** The outcome of a row. */
export interface BatchResult {
  readonly row: BatchRow;
  readonly outcome: 'accepted' | 'accepted-before' | 'same' | 'would-send' | 'failed';
  readonly order?: ExportOrder;
  readonly requestId?: string | undefined;
  /** With `accepted-before`: when an earlier run sent the order, in ISO 8601. */
  readonly time?: string;
  /** With `same`: line of the row that orders the same. */
  readonly sameAs?: number;
  /** With `accepted-before`: the state of that export. Absent if the service cannot report it. */
  readonly shown?: ShownExport | undefined;
  /** The export of an earlier run, which came to less than complete. */
  readonly former?: ShownExport | undefined;
  readonly error?: RowError;
}

/** Codes of errors that every other row would also get. */
const stopping = new Set('unauthenticated forbidden not_found unavailable interrupted protocol local_disk'.split(' '));

/**
 * Sends the orders of a batch, one after the other, and writes the results as CSV beside the batch. What an earlier run sent is
 * sent again only if the service says that it came to less than complete.
 * @param options.dryRun whether nothing is sent or written; it connects only for rows that an earlier run sent
 * @param options.onResult called with the outcome of each row, in their order
 * @returns the error of the whole run; `undefined` when every row is accepted
 * @throws UsageError, ClientError about the batch itself
 */
export async function runBatch(options: {
  readonly path: string;
  readonly kind: string;
  readonly dryRun: boolean;
  readonly connect: () => Promise<DeliveryApi>;
  readonly proxyUrl: URL | undefined;
  readonly terminal: Terminal;
  readonly progress: Pick<Progress, 'counter'>;
  readonly onResult: (result: BatchResult) => void;
}): Promise<RowError | undefined> {
  const { kind, dryRun, proxyUrl, terminal, progress, onResult } = options;
  const { signal } = terminal;
  const path = resolve(terminal.folder, options.path);
  const rows = await readBatch(path);
  let connected: Promise<DeliveryApi> | undefined;
  const service = () => {
    connected ??= options.connect();
    return connected;
  };
  if (!dryRun) await service();
  await using _lock = dryRun ? undefined : await lockResults(path);
  await using results = await openResults(path, { readOnly: dryRun });
  /** Line of the first row with an order, by its digest. */
  const lines = new Map<string, number>();

  /** Sends an order, unless it is complete or under way. @throws ClientError, UsageError */
  const send = async (row: BatchRow, order: ExportOrder, digest: string): Promise<BatchResult> => {
    const noted = results.of(digest);
    const before = noted?.outcome === 'failed' ? undefined : noted;
    const requestId = before && (before.request_id || (await findOrder(await service(), order, before.time, signal)));
    const shown = requestId ? await recordedState(await service(), { requestId, kind }, signal) : undefined;
    if (before && requestId && !(shown && shortfallOf(shown))) {
      return { row, order, outcome: 'accepted-before', requestId, time: before.time, shown };
    }
    const known = { row, order, former: shown };
    if (dryRun) return { ...known, outcome: 'would-send' };
    const note = { ...rowOf(row, digest, 'sending'), time: terminal.now().toISOString() };
    await results.note(note);
    try {
      const answer = await sendOrder(await service(), order, signal);
      await results.note({ ...note, outcome: 'accepted', request_id: answer.requestId });
      return { ...known, outcome: 'accepted', requestId: answer.requestId };
    } catch (error) {
      const isLost = error instanceof UnavailableError && error.mayBeDone;
      const isRefused = error instanceof ClientError && error.code !== 'interrupted' && !isLost;
      if (isRefused) await results.note({ ...note, outcome: 'failed' });
      throw error;
    }
  };

  const here = { ...terminal, folder: dirname(path) };
  const counter = progress.counter('exports', rows.length);
  const table: ResultRow[] = [];
  const errors: RowError[] = [];
  let stop: { readonly line: number; readonly error: RowError } | undefined;
  try {
    for (const row of rows) {
      let order: ExportOrder | undefined;
      let digest = '';
      let result: BatchResult;
      try {
        if (row.fault) throw row.fault;
        order = await readOrder({ ...row, kind }, { visa: 'visa', publicKey: 'public_key' }, here);
        digest = orderDigest(order, proxyUrl);
        const sameAs = lines.get(digest);
        if (sameAs === undefined) lines.set(digest, row.line);
        result = sameAs ? { row, order, outcome: 'same', sameAs } : await send(row, order, digest);
      } catch (error) {
        if (!(error instanceof ClientError || error instanceof UsageError)) throw error;
        result = { row, outcome: 'failed', error, ...(order && { order }) };
        errors.push(error);
        if (error.code === 'interrupted' || (order && stopping.has(error.code))) stop = { line: row.line, error };
      }
      counter.add(1);
      table.push(tableRow(result, digest, results.of(digest)));
      // An interrupted row has no known outcome.
      if (stop?.error.code !== 'interrupted') onResult(result);
      if (stop) break;
    }
  } finally {
    counter.end();
  }
  await results.finish(table);
  const [first] = errors;
  if (first === undefined || stop?.error.code === 'interrupted') return stop?.error;
  if (stop) {
    const { code, message, remedy } = stop.error;
    return new ClientError(code, `stopped at line ${stop.line}: ${message}`, { remedy, cause: stop.error });
  }
  const isAlike = errors.length === rows.length && errors.every(({ code }) => code === first.code);
  const message = `${errors.length} of ${rows.length} rows were not accepted`;
  const remedy = 'Correct them and run the same command again: what is complete or in progress is not sent again.';
  return new ClientError(isAlike ? first.code : 'partial', message, { remedy, cause: first });
}

function rowOf({ line, id, type }: BatchRow, order: string, outcome: string): ResultRow {
  const empty = { request_id: '', time: '', state: '', reason: '', error: '' };
  return { line: String(line), id, type: type === 'fileId' ? 'file' : 'dataset', outcome, ...empty, order };
}

/** @param noted what is known of the order. An error leaves it: the order may have been sent before. */
function tableRow(result: BatchResult, order: string, noted?: ResultRow): ResultRow {
  const { row, sameAs, outcome, requestId, time, shown, error } = result;
  if (sameAs !== undefined) return rowOf(row, '', `same as line ${sameAs}`);
  return {
    ...rowOf(row, order, error && noted ? noted.outcome : outcome),
    request_id: requestId ?? noted?.request_id ?? '',
    time: noted?.time ?? time ?? '',
    ...{ state: shown?.state ?? '', reason: shown?.reason ?? '', error: error?.message ?? '' },
  };
}
