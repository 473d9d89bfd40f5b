import type { Command } from 'commander';
import * as z from 'zod';
import type { AuditRow } from '../../stores/rds/audit-trail.ts';
import { formatBytes, printable } from '../../terminal/output.ts';
import { usageError } from '../errors.ts';
import { type CommandContext, openSession } from '../session.ts';

interface AuditOptions {
  readonly request?: string;
  readonly dataset?: string;
  readonly file?: string;
  readonly limit: string;
}

/** `audit`: what became of export requests. The requester never learns the reason; here an operator does. */
export function registerAudit(program: Command, context: CommandContext): void {
  program
    .command('audit')
    .description('what became of export requests, newest first')
    .option('--request <id>', 'of one request: the requestId that POST /export answered')
    .option('--dataset <id>', 'of one dataset')
    .option('--file <id>', 'of one file')
    .option('--limit <rows>', 'rows at most', '100')
    .action(async (options: AuditOptions, command: Command) => {
      const session = openSession(context, command);
      const limit = Number(options.limit);
      if (!Number.isSafeInteger(limit) || limit < 1) throw usageError('--limit', 'expected a whole number above 0');
      if (options.request !== undefined && !z.guid().safeParse(options.request).success) {
        throw usageError('--request', 'expected the UUID that POST /export answered');
      }
      const { audit } = await session.target();
      const filter = {
        ...(options.request === undefined ? {} : { requestId: options.request }),
        ...(options.dataset === undefined ? {} : { datasetId: options.dataset }),
        ...(options.file === undefined ? {} : { fileId: options.file }),
      };
      for await (const row of audit.newest(filter, limit)) session.output.result({ ...row }, describe(row));
    });
}

function describe({ recordedAt, requestId, event, reason, datasetId, fileId, bytes }: AuditRow): string {
  const parts = [
    recordedAt,
    requestId,
    event,
    reason,
    datasetId && printable(datasetId),
    fileId && printable(fileId),
    bytes === null ? null : formatBytes(bytes),
  ];
  return parts.filter((part) => part !== null && part !== '').join('  ');
}
