import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import type { Timing } from '../../common/timing.ts';
import { UsageError } from '../../terminal/errors.ts';
import type { Columns, Output } from '../../terminal/output.ts';
import { confirm } from '../../terminal/prompts.ts';
import { openSession as openTerminalSession, type Session as TerminalSession } from '../../terminal/session.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import type { GlobalOptions, Target } from '../target.ts';

/** Finds the deployment that the options name. */
export type Connect = (options: GlobalOptions, terminal: Terminal) => Promise<Target>;

/** What a command needs. */
export interface Session extends TerminalSession {
  /** The clock of work that waits for others. */
  readonly timing: Timing;
  /** The deployment to work on. A note on standard error names it. */
  target(): Promise<Target>;
}

/** Opens the session in which a command runs. */
export type Open = (command: Command) => Session;

/** What a session is opened with. */
export interface CommandContext {
  readonly terminal: Terminal;
  readonly connect: Connect;
  readonly timing: Timing;
}

export function openSession({ terminal, connect, timing }: CommandContext, command: Command): Session {
  const session = openTerminalSession(terminal, command);
  return {
    ...session,
    timing,
    async target() {
      const target = await connect(command.optsWithGlobals(), terminal);
      session.output.note(`target: ${target.description}`);
      return target;
    },
  };
}

/** The end of a command's help. @param lines without the name of the program */
export function examples(...lines: readonly string[]): string {
  return `\n${lines.length === 1 ? 'Example' : 'Examples'}:\n${lines.map((line) => `  data-out-ops ${line}`).join('\n')}`;
}

/**
 * Continues only if a person types a word, or has agreed on the command line.
 * @param question what will happen (`remove EGAF1 for good`), and what has happened otherwise (`nothing was removed`)
 * @param refusal makes the error of a command with separate codes. @default - a UsageError
 * @throws UsageError
 */
export async function expectConsent(
  terminal: Terminal,
  { todo, word, otherwise }: { readonly todo: string; readonly word: string; readonly otherwise: string },
  yes: boolean | undefined,
  refusal: (message: string) => Error = (message) => new UsageError(message),
): Promise<void> {
  if (yes) return;
  const agreed = await confirm(terminal, `To ${todo}, type ${word}: `, word);
  if (agreed) return;
  const why = agreed === undefined ? 'no terminal to ask on: add --yes' : 'not confirmed';
  throw refusal(`${why}; ${otherwise}`);
}

/**
 * Shows rows as a table, whose widths need all of them; with `--json` each row as it comes.
 * @param none remark when there is no row
 * @returns the rows of the table; none with `--json`
 */
export async function showRows<Row extends object>(
  output: Output,
  columns: Columns<Row>,
  rows: Iterable<Row> | AsyncIterable<Row>,
  none: string,
): Promise<readonly Row[]> {
  const held: Row[] = [];
  let count = 0;
  for await (const row of rows) {
    count += 1;
    if (output.json) output.result(row, '');
    else held.push(row);
  }
  output.table(columns, held);
  if (count === 0) output.note(none);
  return held;
}
