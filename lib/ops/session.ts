import type { Command } from 'commander';
import type { Timing } from '../contract/timing.ts';
import { openSession as openTerminalSession, type Session as TerminalSession } from '../terminal/session.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { Target } from './ports.ts';

/** Options that every command takes, before or after its own. */
export interface GlobalOptions {
  /** Work on a deployed stack. @default - the local engine */
  readonly aws?: boolean;
  /** The local engine's connection file. */
  readonly connection?: string;
  readonly stage?: string;
  readonly region?: string;
}

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
