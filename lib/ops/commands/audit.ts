import type { Command } from 'commander';
import { usageError } from '../../terminal/errors.ts';
import { formatBytes, printable } from '../../terminal/output.ts';
import type { AuditRow } from '../audit/trail.ts';
import { parseRequestId, parseSubject, subjectHelp } from './arguments.ts';
import { explainAuditReason } from './audit-reasons.ts';
import { type CommandContext, openSession, showRows } from './session.ts';

interface AuditOptions {
  readonly request?: string;
  readonly dataset?: string;
  readonly file?: string;
  readonly subject?: string;
  readonly limit: string;
}

const columns = [
  { title: 'TIME' },
  { title: 'REQUEST' },
  { title: 'EVENT' },
  { title: 'REASON' },
  { title: 'DATASET' },
  { title: 'FILE' },
  { title: 'SIZE', align: 'right' },
  { title: 'RECIPIENT' },
  { title: 'KEY' },
] as const;

/** Hex digits of a recipient's outbox prefix and of a key's fingerprint in the table. With `--json` they are whole. */
const shortDigits = 12;

const afterHelp = `
RECIPIENT and KEY show the first ${shortDigits} digits of the outbox prefix and of the fingerprint of the public key; --json has all.
Below the table stands what the reason codes mean.

Examples:
  data-out-ops audit --limit 20
  data-out-ops audit --request a8ae4a8b-6dd3-4d1b-a2a4-0c0f0f8d3c5e
  data-out-ops audit --subject https://issuer.example.org/,jane`;

/** `audit`: the outcomes of export requests. An operator sees the reasons here; the requester never does. */
export function registerAudit(program: Command, context: CommandContext): void {
  program
    .command('audit')
    .description('list the outcomes of export requests, newest first')
    .option('--request <id>', 'of one request: the requestId in the answer of POST /export')
    .option('--dataset <id>', 'of one dataset')
    .option('--file <id>', 'of one file')
    .option('--subject <iss,sub>', subjectHelp)
    .option('--limit <rows>', 'rows at most', '100')
    .addHelpText('after', afterHelp)
    .action(async (options: AuditOptions, command: Command) => {
      const session = openSession(context, command);
      const limit = Number(options.limit);
      if (!Number.isSafeInteger(limit) || limit < 1) throw usageError('--limit', 'expected a whole number above 0');
      const requestId = options.request === undefined ? undefined : parseRequestId(options.request);
      const recipient = options.subject === undefined ? undefined : parseSubject(options.subject);
      const { audit } = await session.target();
      const filter = {
        ...(recipient === undefined ? {} : { recipient }),
        ...(requestId === undefined ? {} : { requestId }),
        ...(options.dataset === undefined ? {} : { datasetId: options.dataset }),
        ...(options.file === undefined ? {} : { fileId: options.file }),
      };
      const isFiltered = Object.keys(filter).length > 0;
      const none = `note: ${isFiltered ? 'there is no such request in the audit trail' : 'the audit trail is empty: no request was decided yet'}`;
      const reasons = new Set<string>();
      const cells = (row: AuditRow) => {
        if (row.reason !== null) reasons.add(row.reason);
        return cellsOf(row);
      };
      await showRows(session.output, columns, audit.newest(filter, limit), { cells, none });
      // With --json no cell was made, so there is nothing to explain.
      for (const reason of [...reasons].sort()) {
        const explanation = explainAuditReason(reason);
        if (explanation !== undefined) session.output.note(`${reason}: ${explanation}`);
      }
    });
}

function cellsOf(row: AuditRow): string[] {
  const { recordedAt, requestId, event, reason, datasetId, fileId, bytes, recipient, keyFingerprint } = row;
  return [
    recordedAt,
    requestId,
    event,
    reason ?? '',
    datasetId ?? '',
    fileId ?? '',
    bytes === null ? '' : formatBytes(bytes),
    (recipient ?? '').slice(0, shortDigits),
    (keyFingerprint ?? '').slice(0, shortDigits),
  ].map(printable);
}
