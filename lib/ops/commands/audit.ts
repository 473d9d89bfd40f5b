import type { Command } from 'commander';
import * as z from 'zod';
import type { AuditRow } from '../../stores/rds/audit-trail.ts';
import { usageError } from '../../terminal/errors.ts';
import { formatBytes, printable } from '../../terminal/output.ts';
import { showRows } from '../listing.ts';
import { type CommandContext, openSession } from '../session.ts';
import { parseSubject, subjectHelp } from '../subject.ts';

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
] as const;

const afterHelp = `
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
      if (options.request !== undefined && !z.guid().safeParse(options.request).success) {
        throw usageError('--request', 'expected the UUID in the answer of POST /export');
      }
      const recipient = options.subject === undefined ? undefined : parseSubject(options.subject);
      const { audit } = await session.target();
      const filter = {
        ...(recipient === undefined ? {} : { recipient }),
        ...(options.request === undefined ? {} : { requestId: options.request }),
        ...(options.dataset === undefined ? {} : { datasetId: options.dataset }),
        ...(options.file === undefined ? {} : { fileId: options.file }),
      };
      const none = 'note: there is no such request';
      await showRows(session.output, columns, audit.newest(filter, limit), { cells: cellsOf, none });
    });
}

function cellsOf({ recordedAt, requestId, event, reason, datasetId, fileId, bytes }: AuditRow): string[] {
  return [
    recordedAt,
    requestId,
    event,
    reason ?? '',
    printable(datasetId ?? ''),
    printable(fileId ?? ''),
    bytes === null ? '' : formatBytes(bytes),
  ];
}
