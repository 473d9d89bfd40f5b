import { type Command, Option } from 'commander';
import { type ListedFile, ProxyApi } from '../../client/proxy.ts';
import { formatBytes, printable } from '../../terminal/output.ts';
import { parseCount, withServiceOptions } from '../options.ts';
import { type CommandContext, openSession, type Session } from '../session.ts';

interface ListOptions {
  readonly page?: string;
  readonly perPage: string;
}

const largestPage = 50_000;

const afterHelp = `
Examples:
  data-out list
  data-out list --json | jq -r .name
  data-out list --page 1 --per-page 20`;

const columns = [
  { title: 'NAME' },
  { title: 'SIZE', align: 'right' },
  { title: 'STAGED' },
  { title: 'EXPIRES' },
] as const;

/** `list`: the caller's outbox. */
export function registerList(program: Command, context: CommandContext): void {
  withServiceOptions(program.command('list'))
    .description('list the files that are staged for you')
    .addOption(new Option('--all', 'every page (default)').conflicts('page'))
    .option('--page <number>', 'one page, counted from 1')
    .option('--per-page <rows>', 'files of a page', '100')
    .addHelpText('after', afterHelp)
    .action(async (options: ListOptions, self: Command) => {
      await using session = await openSession(context, self);
      const page = options.page === undefined ? undefined : parseCount('--page', options.page, { from: 1, to: 1e9 });
      const perPage = parseCount('--per-page', options.perPage, { from: 1, to: largestPage });
      const proxy = new ProxyApi(await session.service());
      const { signal } = session.terminal;
      if (page !== undefined) {
        const { files } = await proxy.listPage({ page: page - 1, perPage, signal });
        show(session, files);
        return;
      }
      const files: ListedFile[] = [];
      for await (const file of proxy.list({ signal })) files.push(file);
      show(session, files);
    });
}

function show({ output }: Session, files: readonly ListedFile[]): void {
  const rows = files.map(({ name, size, modified, expires }) => ({
    name,
    size,
    staged: modified?.toISOString() ?? null,
    expires: expires?.toISOString() ?? null,
  }));
  if (rows.length > 0 || output.json) {
    output.table(columns, rows, ({ name, size, staged, expires }) => [
      printable(name),
      formatBytes(size),
      dateOf(staged),
      dateOf(expires),
    ]);
  }
  const total = files.reduce((sum, { size }) => sum + size, 0);
  const { length } = files;
  output.note(
    length === 0 ? 'no files are staged' : `${length} ${length === 1 ? 'file' : 'files'}, ${formatBytes(total)}`,
  );
}

/** `2026-12-21 09:14`, in UTC like all times of the service. */
function dateOf(time: string | null): string {
  return time === null ? '' : time.slice(0, 16).replace('T', ' ');
}
