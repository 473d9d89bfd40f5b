import type { Command } from 'commander';
import type { Timing } from '../releases/timing.ts';
import { createOutput, type Output } from '../terminal/output.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { Target } from './ports.ts';

/** Options that every command takes, before or after its own. */
export interface GlobalOptions {
  readonly json?: boolean;
  /** Work on a deployed stack. @default - the local engine */
  readonly aws?: boolean;
  /** The local engine's connection file. */
  readonly connection?: string;
  readonly stage?: string;
  readonly region?: string;
}

/** Finds what the options name. @throws NotFoundError, InvalidRequestError */
export type Connect = (options: GlobalOptions, terminal: Terminal) => Promise<Target>;

/** What one run of one command works with. */
export interface Session {
  readonly terminal: Terminal;
  readonly output: Output;
  /** The deployment to work on, said aloud on standard error. */
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
  const options = command.optsWithGlobals<GlobalOptions>();
  const output = createOutput(terminal, { json: options.json === true });
  return {
    terminal,
    output,
    async target() {
      const target = await connect(options, terminal);
      output.note(`target: ${target.description}`);
      return target;
    },
  };
}
