import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { systemTiming, type Timing } from '../common/timing.ts';
import { createProgram, runProgram } from '../terminal/program.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { registerArchive } from './commands/archive.ts';
import { registerArchiveKey } from './commands/archive-key.ts';
import { registerAudit } from './commands/audit.ts';
import { registerDataset } from './commands/dataset.ts';
import { registerErase } from './commands/erase.ts';
import { registerExports } from './commands/exports.ts';
import { registerLogins } from './commands/logins.ts';
import { registerOutbox } from './commands/outbox.ts';
import { registerRetireRelease } from './commands/retire-release.ts';
import { registerServerFile } from './commands/server-file.ts';
import { type CommandContext, type Connect, type Open, openSession } from './commands/session.ts';
import { registerVisa } from './commands/visa.ts';
import { opsFailure } from './errors.ts';

const help = `Target:
  Without --aws: the local engine, found by --connection, else $DATA_OUT_CONNECTION, else .local/connection.json.
  With --aws: the deployed stacks, with the credentials that the AWS SDK finds (AWS_PROFILE, AWS_ACCESS_KEY_ID, ...).`;

/** Run the operator's tool. @param argv the arguments alone. @returns the exit code, see `exitCodes` */
export async function runOps(
  argv: readonly string[],
  terminal: Terminal,
  connect: Connect,
  timing: Timing = systemTiming,
  version?: string,
): Promise<number> {
  return await runProgram(opsProgram({ terminal, connect, timing }, version), argv, terminal, opsFailure);
}

/** The commands, their options and their help, without running anything. */
export function opsProgram(context: CommandContext, version?: string): Command {
  const open: Open = (command) => openSession(context, command);
  return createProgram(
    context.terminal,
    {
      name: 'data-out-ops',
      version,
      description: 'Fill a data-out archive, release its datasets, manage its users and keys, retire a broken release.',
      help,
      examples: [
        'data-out-ops archive add sample.bam --dataset EGAD00000000001',
        'data-out-ops --aws --stage prod dataset release EGAD00000000001',
      ],
    },
    (program) =>
      program
        .option('--aws', 'use the deployed stacks, not the local engine')
        .option('--connection <file>', 'connection file of the local engine')
        .option('--stage <stage>', 'the setting stage of private/settings.ts (with --aws)')
        .option('--region <region>', 'AWS region (with --aws; default: $AWS_REGION, else from the profile)'),
    (program) => {
      // In the order of `--help`.
      registerArchive(program, open);
      registerDataset(program, open);
      registerLogins(program, open);
      registerArchiveKey(program, open);
      registerOutbox(program, open);
      registerAudit(program, open);
      registerExports(program, open);
      registerErase(program, open);
      registerVisa(program, open);
      registerServerFile(program, open);
      registerRetireRelease(program, open);
    },
  );
}
