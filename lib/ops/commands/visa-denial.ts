import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { decodedText } from '../../common/text.ts';
import { listedVisas, tokenIn } from '../../common/untrusted-json.ts';
import { type DenyListEntry, tokenHash } from '../../contract/deny-list.ts';
import { usageError } from '../../terminal/errors.ts';
import { type Columns, printable } from '../../terminal/output.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { allow, deny, entriesOf, idOf, nameOf, readDenyList } from '../secrets/deny-list.ts';
import { examples, type Open, showRows } from './session.ts';

type EntryOptions = { readonly [Name in 'issuer' | 'jti' | 'sha256' | 'subject']?: string | undefined };

const issuerHelp = 'claim iss of the token, exactly';
const hashHelp = 'of a token without jti: SHA-256 of all before its last dot, in hex';

const columns: Columns<DenyListEntry> = [
  ['DENIED', (entry) => ('sub' in entry ? 'subject' : 'token')],
  ['ID', idOf],
  ['ISSUER', ({ iss }) => iss],
  ['KEPT UNTIL', (entry) => ('until' in entry ? entry.until : '')],
];

/** `visa deny`, `visa allow`, `visa denied`: tokens and subjects that are refused although they verify. */
export function registerVisaDenial(visa: Command, open: Open): void {
  visa
    .command('deny')
    .description('refuse a visa or passport, or every token about a subject, within a minute')
    .argument('[file]', 'the token; of a passport, its visas are denied with it')
    .option('--issuer <iss>', issuerHelp)
    .option('--jti <id>', 'claim jti of the token')
    .option('--sha256 <hash>', hashHelp)
    .option('--subject <sub>', 'claim sub: all tokens of the issuer about it')
    .addHelpText(
      'after',
      examples('visa deny stolen.jwt', 'visa deny --issuer https://issuer.example.org/ --subject jane'),
    )
    .action(async (file, options, command) => {
      const { target, output, terminal } = open(command);
      const entries = file === undefined ? [entryOf(options)] : await entriesIn(file, options, terminal);
      await deny((await target()).visaDenyList, entries, terminal.now());
      for (const entry of entries) output.result({ ...entry }, `denied: ${printable(nameOf(entry))}`);
      output.note(
        'note: functions read the list again within a minute; staged files stay in the outbox, see outbox purge',
      );
    });

  visa
    .command('allow')
    .description('allow a denied token or subject again')
    .requiredOption('--issuer <iss>', issuerHelp)
    .option('--jti <id>', 'claim jti of the token')
    .option('--sha256 <hash>', hashHelp)
    .option('--subject <sub>', 'claim sub')
    .addHelpText('after', examples('visa allow --issuer https://issuer.example.org/ --subject jane'))
    .action(async (options, command) => {
      const { target, output } = open(command);
      const entry = entryOf(options);
      await allow((await target()).visaDenyList, entry);
      output.result({ ...entry, allowed: true }, `no longer denied: ${printable(nameOf(entry))}`);
    });

  visa
    .command('denied')
    .description('list what is denied')
    .addHelpText('after', examples('visa denied --json'))
    .action(async (_options, command) => {
      const { target, output } = open(command);
      await showRows(output, columns, await readDenyList((await target()).visaDenyList), 'note: nothing is denied');
    });
}

/** @throws UsageError */
function entryOf({ issuer, jti, sha256, subject }: EntryOptions): DenyListEntry {
  if (!issuer) throw usageError('--issuer', 'expected the claim iss, or the file of a token');
  if ([jti, sha256, subject].filter((id) => id !== undefined).length > 1) {
    throw usageError('--issuer', 'expected one of --jti, --sha256 and --subject with it');
  }
  if (jti) return { iss: issuer, jti };
  if (subject) return { iss: issuer, sub: subject };
  if (tokenHash.safeParse(sha256).success) return { iss: issuer, sha256: `${sha256}` };
  throw usageError('--issuer', 'expected also --jti, --subject, or --sha256 with 64 digits of lower-case hex');
}

/** @throws UsageError */
async function entriesIn(file: string, options: EntryOptions, { folder }: Terminal): Promise<readonly DenyListEntry[]> {
  const given = Object.keys(options).find((name) => ['issuer', 'jti', 'sha256', 'subject'].includes(name));
  if (given !== undefined) throw usageError(`--${given}`, 'expected either this or a file');
  const text = decodedText(await readFile(resolve(folder, file)));
  return (listedVisas(text) ?? [text]).flatMap((each) => entriesOf(tokenIn(String(each)) ?? ''));
}
