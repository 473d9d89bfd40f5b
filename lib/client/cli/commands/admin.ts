import { type CommandUnknownOpts as Command, Option } from '@commander-js/extra-typings';
import {
  type ExportedFile,
  exportStates,
  type ListedExport,
  type ShownExport,
} from '../../../contract/export-state.ts';
import { limits } from '../../../contract/limits.ts';
import { uuid } from '../../../contract/outbox-key.ts';
import { explainReason } from '../../../contract/reasons.ts';
import { usageError } from '../../../terminal/errors.ts';
import { type Columns, counted, formatBytes, formatFacts } from '../../../terminal/output.ts';
import { administratorApi } from '../export/administrator.ts';
import { describeState } from '../export/describe-export.ts';
import { parseCount, parseTime, withAdministratorOptions } from '../options.ts';
import { type CommandContext, openSession, type Session } from '../session.ts';
import { registerExport } from './admin-export.ts';

const afterHelp = `
An export is queued until the service has checked it. Then it is rejected, and nothing is staged, or it is accepted, staging and
at last complete, incomplete or withdrawn. Below a table, the command explains its reason codes.

Examples:
  data-out admin list --state incomplete --since 2026-11-22
  data-out admin show 0b9d7a52-5f6e-4c1a-9a39-0d2f3f1f2a11 --files`;

const columns: Columns<ListedExport> = [
  ['REQUESTED', ({ requestedAt }) => requestedAt.slice(0, 16).replace('T', ' ')],
  ['STATE', ({ state, reason }) => (reason === null ? state : `${state} (${reason})`)],
  ['ID', ({ file, dataset }) => file ?? dataset],
  ['FILES', ({ counts }) => `${counts.staged ?? '?'} of ${counts.total}`, 'right'],
  ['SIZE', ({ bytes }) => (bytes === null ? '' : formatBytes(bytes)), 'right'],
  ['REQUEST', ({ requestId }) => requestId],
];

const fileColumns: Columns<ExportedFile> = [
  ['FILE', ({ fileId }) => fileId],
  ['STATE', ({ state }) => state],
  ['SIZE', ({ bytes }) => (bytes === null ? '' : formatBytes(bytes)), 'right'],
  ['REASON', ({ reason, supersededBy }) => reason ?? (supersededBy === null ? '' : `by request ${supersededBy}`)],
];

/** `admin export|list|show`, for administrators. */
export function registerAdmin(program: Command, context: CommandContext): void {
  const admin = program.command('admin').description('administrators: export files, and see what happened to exports');
  admin.addHelpText('after', afterHelp);
  registerExport(admin, context);

  withAdministratorOptions(admin.command('list'))
    .description('list the newest exports')
    .addOption(new Option('--state <state>', 'only exports in this state').choices(exportStates))
    .option('--since <time>', 'only exports requested since then')
    .option('--page <number>', `${limits.exportsPerPage} exports, counted from 1`, '1')
    .addHelpText('after', afterHelp)
    .action(async ({ state, kind, ...options }, command) => {
      await using session = await openSession(context, command);
      const { output, terminal } = session;
      const since = options.since === undefined ? undefined : parseTime('--since', options.since).toISOString();
      const page = parseCount('--page', options.page, { from: 1, to: 10_000 });
      const proxy = await administratorApi(session, command);
      const request = { kind, state, since, page: page - 1, signal: terminal.signal };
      const rows = await proxy.exports(request);
      output.table(columns, rows);
      explain(output, rows);
      const more = rows.length === limits.exportsPerPage ? `; --page ${page + 1} may have more` : '';
      output.note(rows.length === 0 ? 'no exports' : `${counted(rows.length, 'export')}${more}`);
    });

  withAdministratorOptions(admin.command('show'))
    .description('show one export')
    .argument('<request>', 'the request id')
    .option('--files', 'with its files')
    .addHelpText('after', afterHelp)
    .action(async (requestId, { files: withFiles, kind }, command) => {
      await using session = await openSession(context, command);
      const { output, terminal } = session;
      if (!uuid.test(requestId)) {
        throw usageError('<request>', 'expected the whole id of a request', 'data-out admin list shows the ids.');
      }
      const proxy = await administratorApi(session, command);
      const ask = (page: number) => proxy.exportState(requestId, { kind, page, signal: terminal.signal });
      const { shown, files } = await ask(0);
      if (!withFiles) {
        output.result(shown, describe(shown));
        explain(output, [shown]);
        return;
      }
      const all = [...files];
      for (let page = 1, last = files; last.length === limits.exportedFilesPerPage; page += 1) {
        last = (await ask(page)).files;
        all.push(...last);
      }
      output.result({ ...shown, files: all }, describe(shown));
      if (all.length === 0) output.note('The export has no files.');
      else if (!output.json) output.table(fileColumns, all);
      explain(output, [shown, ...all]);
    });
}

/** Says what the reason codes mean, and what to do. With `--json` a program gets the codes alone. */
function explain(output: Session['output'], rows: readonly { readonly reason: string | null }[]): void {
  if (output.json) return;
  for (const reason of [...new Set(rows.map((row) => row.reason ?? ''))].sort()) {
    const why = explainReason(reason);
    if (why) output.note(`${reason}: ${why.meaning}. ${why.remedy}`);
  }
}

/** The lines about one export. Times are in UTC. */
function describe(shown: ShownExport): string {
  const { requestId, dataset, file, recipient, keyFingerprint, requestedAt, settledAt } = shown;
  const { bytes, generation, receipt, counts } = shown;
  const facts = [
    ['request', requestId],
    ['state', describeState(shown)],
    ['dataset', dataset],
    ['file', file],
    ['staged', counts.total === 0 ? null : `${counted(counts.staged, 'file')}, ${formatBytes(bytes)}`],
    ['recipient', recipient],
    ['key', keyFingerprint && `SHA-256 ${keyFingerprint}`],
    ['requested', requestedAt],
    ['settled', settledAt && (generation === 1 ? settledAt : `${settledAt}, generation ${generation}`)],
    ['receipt', receipt],
  ] as const;
  return formatFacts(facts, 12);
}
