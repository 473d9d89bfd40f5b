import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { clientProgram } from '../../lib/client/cli/main.ts';
import { systemTiming } from '../../lib/common/timing.ts';
import { opsProgram } from '../../lib/ops/program.ts';
import { runCli } from './cli-run.ts';
import { makeOpsWorld, makeTerminal, runTool, type ToolRun } from './ops-world.ts';

/** A command of this project. */
export interface CommandLine {
  readonly name: string;
  /** Without running anything. */
  readonly program: () => Promise<Command>;
  readonly run: (argv: readonly string[]) => Promise<ToolRun>;
}

const connect = () => Promise.reject(new Error('nothing runs'));

export const client: CommandLine = {
  name: 'data-out',
  program: () => clientProgram({ terminal: makeTerminal().terminal, version: '1.2.3' }),
  async run(argv) {
    const run = await runCli(argv);
    return { ...run, stdout: run.stdout.toString() };
  },
};

export const ops: CommandLine = {
  name: 'data-out-ops',
  program: async () => opsProgram({ terminal: makeTerminal().terminal, connect, timing: systemTiming }),
  run: async (argv) => await runTool(argv, (await makeOpsWorld()).target),
};
