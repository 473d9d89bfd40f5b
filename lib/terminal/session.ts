import type { Command } from 'commander';
import { createOutput, type Output } from './output.ts';
import { createProgress, noProgress, type Progress } from './progress.ts';
import type { Terminal } from './terminal.ts';

/** What one run of one command works with. */
export interface Session {
  readonly terminal: Terminal;
  readonly output: Output;
  /** End it before the command ends. */
  readonly progress: Progress;
}

/** Opens a session by `--json` and `--quiet`. */
export function openSession(terminal: Terminal, command: Command): Session {
  const { json = false, quiet = false } = command.optsWithGlobals<{ json?: boolean; quiet?: boolean }>();
  const progress = json || quiet ? noProgress : createProgress(terminal);
  return { terminal, progress, output: createOutput(terminal, { json, quiet }, progress.around) };
}
