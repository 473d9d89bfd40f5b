import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { DenyListEntry } from '../../contract/deny-list.ts';
import { printable } from '../../terminal/output.ts';
import { allow, deny, entriesOf, nameOf, readDenyList } from '../deny-list.ts';
import { usageError } from '../errors.ts';
import { type CommandContext, openSession } from '../session.ts';

interface EntryOptions {
  readonly issuer?: string;
  readonly jti?: string;
  readonly subject?: string;
}

const issuerHelp = 'claim iss of the token itself, character by character';

/** `visa deny`, `visa allow`, `visa denied`: tokens and subjects that are refused although they verify. */
export function registerVisaDenial(visa: Command, context: CommandContext): void {
  visa
    .command('deny')
    .description('refuse a visa or passport, or every token about a subject, from within a minute on')
    .argument('[file]', 'the token; of a passport, its visas are denied with it')
    .option('--issuer <iss>', issuerHelp)
    .option('--jti <id>', 'claim jti of the token')
    .option('--subject <sub>', 'claim sub: every token of the issuer about it')
    .action(async (file: string | undefined, options: EntryOptions, command: Command) => {
      const session = openSession(context, command);
      const entries = file === undefined ? [entryOf(options)] : await entriesIn(file, options, context);
      const { visaDenyList } = await session.target();
      await deny(visaDenyList, entries, session.terminal.now());
      for (const entry of entries) session.output.result({ ...entry }, `denied: ${printable(nameOf(entry))}`);
      session.output.note('note: functions read the list again within a minute; what is staged stays in the outbox');
    });

  visa
    .command('allow')
    .description('take a denied token or subject off the list')
    .requiredOption('--issuer <iss>', issuerHelp)
    .option('--jti <id>', 'claim jti of the token')
    .option('--subject <sub>', 'claim sub')
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
    .action(async (_options: unknown, command: Command) => {
      const session = openSession(context, command);
      const { visaDenyList } = await session.target();
      const denied = await readDenyList(visaDenyList);
      for (const entry of denied) {
        const until = 'until' in entry ? `, kept until ${entry.until}` : '';
        session.output.result({ ...entry }, printable(`${nameOf(entry)}${until}`));
      }
      if (denied.length === 0) session.output.note('note: nothing is denied');
    });
}

/** @throws InvalidRequestError */
function entryOf({ issuer, jti, subject }: EntryOptions): DenyListEntry {
  if (!issuer) throw usageError('--issuer', 'expected the claim iss, or the file of a token');
  if (jti !== undefined && subject !== undefined) throw usageError('--jti', 'expected this or --subject, not both');
  if (jti) return { iss: issuer, jti };
  if (subject) return { iss: issuer, sub: subject };
  throw usageError('--jti', 'expected this or --subject');
}

/** @throws InvalidRequestError */
async function entriesIn(
  file: string,
  options: EntryOptions,
  { terminal }: CommandContext,
): Promise<readonly DenyListEntry[]> {
  const given = Object.keys(options).find((name) => ['issuer', 'jti', 'subject'].includes(name));
  if (given !== undefined) throw usageError(`--${given}`, 'expected either this or a file');
  return entriesOf((await readFile(resolve(terminal.folder, file), 'utf8')).trim());
}
