import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { isReceiptName } from '../../../contract/delivery.ts';
import { type Columns, counted, formatBytes } from '../../../terminal/output.ts';
import { DeliveryApi, type ListedFile } from '../../api/delivery-api.ts';
import { ofDataset } from '../download/select-files.ts';
import { withServiceOptions } from '../options.ts';
import { type CommandContext, openSession, type Session } from '../session.ts';
import { listedClaims, mostReceipts, nothingStaged } from '../submitted-paths.ts';

/** The listing warns of files that expire within so many days. */
const warnedDays = 3;

const afterHelp = `
PATH is what the submitter called a file. It comes from the delivery receipts of your outbox, which are read if there are at
most ${mostReceipts} small ones, or with --paths. A file without a receipt has "-".

A delivery receipt says that an export is done. The last line counts the receipts, and --receipts also lists them. A warning
counts the files that expire within ${warnedDays} days.

Examples:
  data-out list
  data-out list --paths
  data-out list --dataset EGAD00000000001
  data-out list --json | jq -r .name`;

/** `list`: the caller's outbox. */
export function registerList(program: Command, context: CommandContext): void {
  withServiceOptions(program.command('list'))
    .description('list your staged files')
    .option('--dataset <id>', 'only files of this dataset, as the delivery receipts say')
    .option('--paths', 'read all delivery receipts for the submitted paths')
    .option('--receipts', 'also list delivery receipts')
    .addHelpText('after', afterHelp)
    .action(async ({ dataset, paths = false, receipts: withReceipts = false }, command) => {
      await using session = await openSession(context, command);
      const proxy = new DeliveryApi(await session.service());
      const { signal } = session.terminal;
      const files = await Array.fromAsync(proxy.list({ signal }));
      const claims = await listedClaims(session, { proxy, files, wanted: paths || dataset !== undefined });
      const shown = dataset === undefined ? files : ofDataset(files, claims, dataset);
      await show(session, shown, { pathOf: (name) => claims.of(name)?.file.path, withReceipts });
    });
}

type Row = ReturnType<typeof rowOf>;

const columns: Columns<Row> = [
  ['NAME', ({ name }) => name],
  ['SIZE', ({ size }) => formatBytes(size), 'right'],
  ['STAGED', ({ staged }) => dateOf(staged)],
  ['EXPIRES', ({ expires }) => dateOf(expires)],
];
const pathColumn: Columns<Row> = [['PATH', ({ path, receipt }) => (receipt ? '' : (path ?? '-'))]];
const kindColumn: Columns<Row> = [['KIND', ({ receipt }) => (receipt ? 'receipt' : '')]];

async function show(
  session: Session,
  listed: readonly ListedFile[],
  { pathOf, withReceipts }: { readonly pathOf: (name: string) => string | undefined; readonly withReceipts: boolean },
): Promise<void> {
  const { output, terminal } = session;
  const receipts = listed.filter(({ name }) => isReceiptName(name)).length;
  const files = withReceipts ? listed : listed.filter(({ name }) => !isReceiptName(name));
  const rows = files.map((file) => rowOf(file, pathOf(file.name)));
  const hasPaths = rows.some(({ path }) => path !== null);
  const showsKinds = withReceipts && receipts > 0;
  output.table([...columns, ...(hasPaths ? pathColumn : []), ...(showsKinds ? kindColumn : [])], rows);
  warnOfExpiry(files, output, terminal.now());
  const parts = [
    ...(listed.length > receipts ? [counted(listed.length - receipts, 'file')] : []),
    ...(showsKinds ? [counted(receipts, 'receipt')] : []),
    formatBytes(files.reduce((sum, { size }) => sum + size, 0)),
  ];
  const them = receipts === 1 ? 'it' : 'them';
  const hidden = withReceipts || receipts === 0 ? '' : `; ${counted(receipts, 'receipt')} (--receipts shows ${them})`;
  output.note(`${files.length === 0 ? await nothingStaged(session) : parts.join(', ')}${hidden}`);
}

/** As `--json` shows it. */
function rowOf({ name, size, modified, expires }: ListedFile, path: string | undefined) {
  const times = { staged: modified?.toISOString() ?? null, expires: expires?.toISOString() ?? null };
  return { name, size, ...times, path: path ?? null, ...(isReceiptName(name) && { receipt: true }) };
}

function warnOfExpiry(files: readonly ListedFile[], output: Session['output'], now: Date): void {
  const limit = now.getTime() + warnedDays * 86_400_000;
  const times = files.flatMap(({ name, expires }) =>
    expires && expires.getTime() < limit && !isReceiptName(name) ? expires.toISOString() : [],
  );
  const [first] = times.sort();
  if (first === undefined) return;
  const what = `${counted(times.length, 'file')} ${times.length === 1 ? 'expires' : 'expire'} within ${warnedDays} days`;
  output.warn(`${what}, the first at ${dateOf(first)} UTC: download soon`);
}

/** `2026-12-21 09:14`, in UTC like all times of the service. */
function dateOf(time: string | null): string {
  return time === null ? '' : time.slice(0, 16).replace('T', ' ');
}
