import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { DenyListEntry } from '../../contract/deny-list.ts';
import { usageError } from '../../terminal/errors.ts';
import { printable } from '../../terminal/output.ts';
import { allow, deny, entriesOf, nameOf, readDenyList } from '../secrets/deny-list.ts';
import { type CommandContext, openSession } from './session.ts';

interface EntryOptions {
  readonly issuer?: string;
  readonly jti?: string;
  readonly subject?: string;
}

const issuerHelp = 'claim iss of the token itself, exactly';
const columns = [{ title: 'DENIED' }, { title: 'ID' }, { title: 'ISSUER' }, { title: 'KEPT UNTIL' }] as const;

const denyHelp = `
Examples:
  data-out-ops visa deny stolen.jwt
  data-out-ops visa deny --issuer https://issuer.example.org/ --subject jane`;

const allowHelp = `
Example:
  data-out-ops visa allow --issuer https://issuer.example.org/ --subject jane`;

/** `visa deny`, `visa allow`, `visa denied`: tokens and subjects that are refused although they verify. */
export function registerVisaDenial(visa: Command, context: CommandContext): void {
  visa
    .command('deny')
    .description('refuse a visa or passport, or every token about a subject, from within a minute on')
    .argument('[file]', 'the token; of a passport, its visas are denied with it')
    .option('--issuer <iss>', issuerHelp)
    .option('--jti <id>', 'claim jti of the token')
    .option('--subject <sub>', 'claim sub: every token of the issuer about it')
    .addHelpText('after', denyHelp)
    .action(async (file: string | undefined, options: EntryOptions, command: Command) => {
      const session = openSession(context, command);
      const entries = file === undefined ? [entryOf(options)] : await entriesIn(file, options, context);
      const { visaDenyList } = await session.target();
      await deny(visaDenyList, entries, session.terminal.now());
      for (const entry of entries) session.output.result({ ...entry }, `denied: ${printable(nameOf(entry))}`);
      session.output.note(
        'note: functions read the list again within a minute; staged files stay in the outbox, see outbox purge',
      );
    });

  visa
    .command('allow')
    .description('take a denied token or subject off the list')
    .requiredOption('--issuer <iss>', issuerHelp)
    .option('--jti <id>', 'claim jti of the token')
    .option('--subject <sub>', 'claim sub')
    .addHelpText('after', allowHelp)
    .action(async (options: EntryOptions, command: Command) => {
      const session = openSession(context, command);
      const entry = entryOf(options);
      const { visaDenyList } = await session.target();
      await allow(visaDenyList, entry);
      session.output.result({ ...entry, allowed: true }, `no longer denied: ${printable(nameOf(entry))}`);
    });

  visa
    .command('denied')
    .description('list what is denied')
    .addHelpText('after', '\nExample:\n  data-out-ops visa denied --json')
    .action(async (_options: unknown, command: Command) => {
      const session = openSession(context, command);
      const { visaDenyList } = await session.target();
      const denied = await readDenyList(visaDenyList);
      if (denied.length === 0) session.output.note('note: nothing is denied');
      else session.output.table(columns, denied, cellsOf);
    });
}

function cellsOf(entry: DenyListEntry): string[] {
  const cells =
    'sub' in entry ? ['subject', entry.sub, entry.iss, ''] : ['token', entry.jti, entry.iss, entry.until ?? ''];
  return cells.map(printable);
}

/** @throws UsageError */
function entryOf({ issuer, jti, subject }: EntryOptions): DenyListEntry {
  if (!issuer) throw usageError('--issuer', 'expected the claim iss, or the file of a token');
  if (jti !== undefined && subject !== undefined) throw usageError('--jti', 'expected this or --subject, not both');
  if (jti) return { iss: issuer, jti };
  if (subject) return { iss: issuer, sub: subject };
  throw usageError('--issuer', 'expected --jti or --subject beside it');
}

/** @throws UsageError */
async function entriesIn(
  file: string,
  options: EntryOptions,
  { terminal }: CommandContext,
): Promise<readonly DenyListEntry[]> {
  const given = Object.keys(options).find((name) => ['issuer', 'jti', 'subject'].includes(name));
  if (given !== undefined) throw usageError(`--${given}`, 'expected either this or a file');
  return entriesOf((await readFile(resolve(terminal.folder, file), 'utf8')).trim());
}
