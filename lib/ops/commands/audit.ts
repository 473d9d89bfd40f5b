import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { explainReason } from '../../contract/reasons.ts';
import { usageError } from '../../terminal/errors.ts';
import { type Columns, formatBytes } from '../../terminal/output.ts';
import type { AuditRow } from '../audit/trail.ts';
import { parseRequestId, parseSubject, subjectHelp } from './arguments.ts';
import { type Open, showRows } from './session.ts';

/** Hex digits of a recipient's outbox prefix and of a key's fingerprint in the table. With `--json` they are whole. */
const shortDigits = 12;

const columns: Columns<AuditRow> = [
  ['TIME', ({ recordedAt }) => recordedAt],
  ['REQUEST', ({ requestId }) => requestId],
  ['EVENT', ({ event }) => event],
  ['REASON', ({ reason }) => reason],
  ['DATASET', ({ datasetId }) => datasetId],
  ['FILE', ({ fileId }) => fileId],
  ['SIZE', ({ bytes }) => (bytes === null ? '' : formatBytes(bytes)), 'right'],
  ['RECIPIENT', ({ recipient }) => recipient?.slice(0, shortDigits)],
  ['KEY', ({ keyFingerprint }) => keyFingerprint?.slice(0, shortDigits)],
];

const afterHelp = `
RECIPIENT and KEY show the first ${shortDigits} digits of the outbox prefix and of the fingerprint of the public key; --json has
all. Below the table, the command explains the reasons of rejections and failures.

Examples:
  data-out-ops audit --limit 20
  data-out-ops audit --request a8ae4a8b-6dd3-4d1b-a2a4-0c0f0f8d3c5e
  data-out-ops audit --subject https://issuer.example.org/,jane`;

/** `audit`: the outcomes of export requests. An operator sees the reasons here, administrators in the state of an export. */
export function registerAudit(program: Command, open: Open): void {
  program
    .command('audit')
    .description('list the outcomes of export requests, newest first')
    .option('--request <id>', 'of one request: requestId of POST /export')
    .option('--dataset <id>', 'of one dataset')
    .option('--file <id>', 'of one file')
    .option('--subject <iss,sub>', subjectHelp)
    .option('--limit <rows>', 'most rows', '100')
    .addHelpText('after', afterHelp)
    .action(async ({ request, dataset: datasetId, file: fileId, subject, limit: text }, command) => {
      const { target, output } = open(command);
      const limit = Number(text);
      if (!Number.isSafeInteger(limit) || limit < 1) throw usageError('--limit', 'expected a whole number above 0');
      const requestId = request === undefined ? undefined : parseRequestId(request);
      const recipient = subject === undefined ? undefined : parseSubject(subject);
      const isFiltered = [requestId, datasetId, fileId, recipient].some((value) => value !== undefined);
      const none = isFiltered
        ? 'note: there is no such request in the audit trail'
        : 'note: the audit trail is empty: no request has been decided';
      const { audit } = await target();
      const found = audit.newest({ requestId, datasetId, fileId, recipient }, limit);
      const shown = await showRows(output, columns, found, none);
      for (const reason of [...new Set(shown.map((row) => row.reason ?? ''))].sort()) {
        const explanation = explainReason(reason);
        if (explanation) output.note(`${reason}: ${explanation.meaning}`);
      }
    });
}
