import type { Command } from 'commander';
import type { Timing } from '../../common/timing.ts';
import { UsageError } from '../../terminal/errors.ts';
import type { Column, Output } from '../../terminal/output.ts';
import { confirm } from '../../terminal/prompts.ts';
import { openSession as openTerminalSession, type Session as TerminalSession } from '../../terminal/session.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import type { GlobalOptions, Target } from '../target.ts';

/** Finds the deployment that the options name. @throws NotFoundError, UsageError */
export type Connect = (options: GlobalOptions, terminal: Terminal) => Promise<Target>;

/** What one run of one command works with. */
export interface Session extends TerminalSession {
  /** The deployment to work on. A note on standard error names it. */
  target(): Promise<Target>;
}

/** What commands need to open a session. */
export interface CommandContext {
  readonly terminal: Terminal;
  readonly connect: Connect;
  /** The clock of work that waits for others. */
  readonly timing: Timing;
}

export function openSession({ terminal, connect }: CommandContext, command: Command): Session {
  const session = openTerminalSession(terminal, command);
  return {
    ...session,
    async target() {
      const target = await connect(command.optsWithGlobals(), terminal);
      session.output.note(`target: ${target.description}`);
      return target;
    },
  };
}

/**
 * Go on only if a person types a word.
 *
 * @param question.todo what will happen: `remove EGAF1 for good`
 * @param question.word what the person types
 * @param question.otherwise what has happened without it: `nothing was removed`
 * @param yes whether the person has agreed on the command line
 * @param refusal makes the error of a command that has codes of its own. @default - a UsageError
 * @throws UsageError
 */
export async function expectConsent(
  terminal: Terminal,
  question: { readonly todo: string; readonly word: string; readonly otherwise: string },
  yes: boolean | undefined,
  refusal: (message: string) => Error = (message) => new UsageError(message),
): Promise<void> {
  if (yes) return;
  const { todo, word, otherwise } = question;
  const agreed = await confirm(terminal, `To ${todo}, type ${word}: `, word);
  if (agreed) return;
  const why = agreed === undefined ? 'there is no terminal to ask on: add --yes' : 'not confirmed';
  throw refusal(`${why}; ${otherwise}`);
}

/**
 * Shows rows as a table, whose widths need all of them; with `--json` each row as it comes.
 * @param none remark when there is no row
 */
export async function showRows<T extends object>(
  output: Output,
  columns: readonly Column[],
  rows: AsyncIterable<T>,
  { cells, none }: { readonly cells: (row: T) => readonly string[]; readonly none: string },
): Promise<void> {
  const held: T[] = [];
  let count = 0;
  for await (const row of rows) {
    count += 1;
    if (output.json) output.result(row, '');
    else held.push(row);
  }
  if (held.length > 0) output.table(columns, held, cells);
  if (count === 0) output.note(none);
}
