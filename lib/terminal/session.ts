import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { createOutput, type Output } from './output.ts';
import { createProgress, noProgress, type Progress } from './progress.ts';
import type { Terminal } from './terminal.ts';

/** What a command needs. */
export interface Session {
  readonly terminal: Terminal;
  readonly output: Output;
  /** Must be ended before the command ends. */
  readonly progress: Progress;
}

/** Opens a session by `--json` and `--quiet`. */
export function openSession(terminal: Terminal, command: Command): Session {
  const options = command.optsWithGlobals();
  const { json, quiet } = { json: options.json === true, quiet: options.quiet === true };
  const progress = json || quiet ? noProgress : createProgress(terminal);
  return { terminal, progress, output: createOutput(terminal, { json, quiet }, progress.around) };
}
