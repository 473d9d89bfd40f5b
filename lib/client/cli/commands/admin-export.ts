import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { isUnderWay, type ShownExport } from '../../../contract/export-state.ts';
import { usageError } from '../../../terminal/errors.ts';
import { problemOf } from '../../../terminal/failure.ts';
import { formatFacts, printable } from '../../../terminal/output.ts';
import type { DeliveryApi } from '../../api/delivery-api.ts';
import { typeOf } from '../../api/order/order-rules.ts';
import { administratorApi } from '../export/administrator.ts';
import { type BatchResult, runBatch } from '../export/batch.ts';
import { describeState, shortfallOf, waitForExport } from '../export/describe-export.ts';
import { type ExportOrder, readOrder, sendOrder } from '../export/export-order.ts';
import { publicKeyForms, withAdministratorOptions } from '../options.ts';
import { type CommandContext, openSession, type Session } from '../session.ts';

interface ExportOptions {
  readonly visa?: string;
  readonly publicKey?: string;
  readonly batch?: string;
  readonly dryRun?: boolean;
  readonly wait?: boolean;
  readonly kind: string;
}

const afterHelp = `
The service queues the request and answers immediately, and then checks whether the visa is valid and the dataset released.
--wait waits for the outcome, which data-out admin show also has later. The recipient sees the staged files with data-out list.
With --wait the exit code is 0 for complete, 3 for rejected or withdrawn, 5 for incomplete, 7 for failed.

An id of EGAF and digits is a file, any other a dataset.

A batch is a CSV file whose first line is id,visa,public_key. Paths are relative to its folder. In another column, type, a row
can say "file" of an id of another form. The results are in FILE.csv.results.csv. A second run of the same command reads
them, asks the service what happened to the rows that were sent, and sends the others, and those that were rejected, incomplete
or withdrawn.

Examples:
  data-out admin export EGAD00000000001 --visa jane.jwt --public-key jane.pub.pem --wait
  data-out admin export EGAF00000000001 --visa jane.jwt --public-key jane.pub.pem --dry-run
  data-out admin export --batch recipients.csv --dry-run`;

export function registerExport(admin: Command, context: CommandContext): void {
  const exporting = admin
    .command('export')
    .description('stage a dataset or file for a recipient')
    .argument('[id]', 'dataset or file')
    .option('--visa <file>', "the recipient's visa or passport")
    .option('--public-key <file>', `the recipient's public key: ${publicKeyForms}`)
    .option('--wait', 'wait for the outcome')
    .option('--batch <file>', 'many exports from a CSV file')
    .option('--dry-run', 'check everything, send nothing');
  withAdministratorOptions(exporting)
    .addHelpText('after', afterHelp)
    .action(async (id, options, command) => {
      const batch = checkedBatch(id, options);
      await using session = await openSession(context, command);
      const api = () => administratorApi(session, command);
      if (batch !== undefined) await exportBatch(session, batch, options, api);
      else await exportOne(session, checkedOne(id, options), { ...options, api: options.dryRun ? undefined : api });
    });
}

/** The batch, if `--batch` is given. @throws UsageError for other options that a batch replaces */
function checkedBatch(id: string | undefined, options: ExportOptions): string | undefined {
  const { batch, visa, publicKey, wait } = options;
  if (batch === undefined) return undefined;
  if (wait) {
    const remedy = 'Run the batch again later: it shows the outcome of each row.';
    throw usageError('--wait', 'this is for one export', remedy);
  }
  if (id !== undefined || visa !== undefined || publicKey !== undefined) {
    throw usageError('--batch', 'id, visa and public key are in the file', 'Give --batch alone.');
  }
  return batch;
}

function checkedOne(id: string | undefined, { visa, publicKey, kind }: ExportOptions) {
  if (id === undefined) throw usageError('id', 'no dataset or file is given', 'Give its id, or --batch FILE.csv.');
  if (visa === undefined) throw usageError('--visa', "give the file with the recipient's visa");
  if (publicKey === undefined) throw usageError('--public-key', "give the file with the recipient's public key");
  return { id, type: typeOf(id), kind, visa, publicKey } as const;
}

async function exportOne(
  { output, terminal }: Session,
  words: ReturnType<typeof checkedOne>,
  { wait, api }: { readonly wait?: boolean; readonly api: (() => Promise<DeliveryApi>) | undefined },
): Promise<void> {
  const order = await readOrder(words, { visa: '--visa', publicKey: '--public-key' }, terminal);
  for (const doubt of order.doubts) output.warn(printable(doubt));
  if (api === undefined) {
    output.result({ outcome: 'would-send', ...recordOf(order) }, describe(order));
    output.note('Nothing was sent. The visa was decoded, not verified.');
    return;
  }
  const proxy = await api();
  const { requestId } = await sendOrder(proxy, order, terminal.signal);
  const text = `${printable(words.id)}: queued, request ${printable(requestId)}; nothing is approved yet`;
  output.result({ outcome: 'accepted', requestId, ...recordOf(order) }, text);
  const showCommand = `data-out admin show ${printable(requestId)}`;
  if (!wait) {
    if (!output.json) output.note(`The service now checks visa and release. ${showCommand} shows its outcome.`);
    return;
  }
  let last: string | undefined;
  const onState = (shown: ShownExport) => {
    const state = describeState(shown);
    if (state !== last && isUnderWay(shown.state) && !output.json) output.note(state);
    last = state;
  };
  const watched = { requestId, kind: words.kind };
  const shown = await waitForExport(proxy, watched, terminal.signal, onState).catch((error: unknown) => {
    output.warn(`stopped waiting; the export continues: ${showCommand} shows its outcome`);
    throw error;
  });
  output.result(shown, `${printable(words.id)}: ${describeState(shown)}`);
  const shortfall = shortfallOf(shown);
  if (shortfall) throw shortfall;
}

async function exportBatch(
  session: Session,
  path: string,
  { kind, dryRun = false }: ExportOptions,
  connect: () => Promise<DeliveryApi>,
): Promise<void> {
  const { output, progress, terminal, settings } = session;
  const counts = { accepted: 0, 'accepted-before': 0, same: 0, 'would-send': 0, failed: 0 };
  const onResult = (result: BatchResult) => {
    const { row, outcome, requestId, time, sameAs, order, error, shown } = result;
    counts[outcome] += 1;
    const record = {
      ...{ line: row.line, outcome, id: row.id, type: row.type, requestId, time, sameAs },
      ...(order && recordOf(order)),
      ...(shown && { state: shown.state, reason: shown.reason, counts: shown.counts }),
      ...(error && { error: problemOf(error) }),
    };
    for (const doubt of order?.doubts ?? []) output.warn(`line ${row.line}: ${printable(doubt)}`);
    output.result(record, `line ${row.line}: ${printable(row.id)}: ${printable(textOf(result))}`);
  };
  const options = { path, kind, dryRun, connect, proxyUrl: settings.proxyUrl, terminal, progress, onResult };
  const error = await runBatch(options);
  const parts = Object.entries(counts).flatMap(([outcome, count]) =>
    count === 0 ? [] : `${count} ${summaryWords[outcome as BatchResult['outcome']]}`,
  );
  const end = dryRun ? '; nothing was sent' : counts.accepted > 0 ? '; what is queued is not approved yet' : '';
  output.note(`${parts.join(', ')}${end}`);
  if (error) throw error;
}

const summaryWords = {
  accepted: 'queued',
  'accepted-before': 'queued before',
  same: 'same as another row',
  'would-send': 'would be sent',
  failed: 'failed',
} as const;

function textOf({ outcome, requestId, time, sameAs, error, shown, former }: BatchResult): string {
  const again = former ? ' again' : '';
  const why = former ? `: the export ${former.requestId} is ${describeState(former)}` : '';
  if (outcome === 'accepted') return `queued${again}, request ${requestId}${why}`;
  if (outcome === 'accepted-before') {
    const state = shown ? describeState(shown) : 'the service has no record of it, so its state is unknown';
    return `queued before, at ${time}, request ${requestId}: ${state}; not sent again`;
  }
  if (outcome === 'same') return `same as line ${sameAs}`;
  if (outcome === 'would-send') return `would be sent${again}${why}`;
  return `failed: ${error?.message}`;
}

function recordOf({ request, fingerprint, recipient, visaExpires, doubts }: ExportOrder) {
  const { id, type, kind } = request;
  const who = recipient && { issuer: recipient.issuer, subject: recipient.subject };
  const expires = visaExpires?.toISOString();
  return { id, type, kind, publicKeyFingerprint: fingerprint, recipient: who, visaExpires: expires, doubts };
}

function describe({ request, fingerprint, recipient, visaExpires }: ExportOrder): string {
  const { id, type = 'datasetId', kind = '' } = request;
  const who = recipient ? `${recipient.subject} (${recipient.issuer})` : 'not named by the visa';
  const facts = [
    ['would export', `${type === 'fileId' ? 'file' : 'dataset'} ${id}, kind ${kind}`],
    ['recipient', who],
    ['visa until', visaExpires?.toISOString() ?? 'not said'],
    ['key', `SHA-256 ${fingerprint}`],
  ] as const;
  return formatFacts(facts, 14);
}
