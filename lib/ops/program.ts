import { Command, CommanderError } from 'commander';
import { systemTiming, type Timing } from '../releases/timing.ts';
import { InterruptedError } from '../terminal/interrupted.ts';
import { jsonLine, printable } from '../terminal/output.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { registerAdmin } from './commands/admin.ts';
import { registerArchive } from './commands/archive.ts';
import { registerArchiveKey } from './commands/archive-key.ts';
import { registerAudit } from './commands/audit.ts';
import { registerDataset } from './commands/dataset.ts';
import { registerRetireRelease } from './commands/retire-release.ts';
import { registerUser } from './commands/user.ts';
import { registerVisa } from './commands/visa.ts';
import { exitCodes, type Failure, failureOf } from './errors.ts';
import type { Connect } from './session.ts';

const registrations = [
  registerArchive,
  registerDataset,
  registerUser,
  registerAdmin,
  registerArchiveKey,
  registerAudit,
  registerVisa,
  registerRetireRelease,
] as const;

const afterHelp = `
Target:
  Without --aws the local engine, found by --connection, else $DATA_OUT_CONNECTION, else .local/connection.json.
  With --aws the deployed stacks, with the credentials the AWS SDK finds (AWS_PROFILE, AWS_ACCESS_KEY_ID, ...).

Exit codes:
  0 done   1 failed   2 wrong usage   3 not found   4 no access   5 unavailable, try again   130 interrupted
  retire-release tells more with a second digit: 2x, 3x, 4x, 5x as above, 6x something stands in the way, 7x not
  finished; see data-out-ops retire-release --help.`;

/**
 * Run the operator's tool.
 * @param argv the arguments alone, without the names of the interpreter and the script
 * @returns the exit code, see `exitCodes` and `retirementExitCodes`
 */
export async function runProgram(
  argv: readonly string[],
  terminal: Terminal,
  connect: Connect,
  timing: Timing = systemTiming,
): Promise<number> {
  const program = new Command('data-out-ops')
    .description('Fill a data-out archive, release its datasets, manage its users and keys, retire a broken release.')
    .option('--json', 'results as one JSON object a line')
    .option('--aws', 'work on a deployed stack instead of the local engine')
    .option('--connection <file>', 'connection file of the local engine')
    .option('--stage <stage>', 'stage of the stacks, as in bin/settings.ts (with --aws)')
    .option('--region <region>', 'AWS region (with --aws); else $AWS_REGION, or that of the profile')
    .addHelpText('after', afterHelp)
    .exitOverride()
    .configureOutput({
      writeOut: terminal.write,
      writeErr: terminal.report,
      // Reported below, in the form that was asked for.
      outputError: () => {},
    });
  for (const register of registrations) register(program, { terminal, connect, timing });

  try {
    await program.parseAsync(argv, { from: 'user' });
    await terminal.flush?.();
    return exitCodes.ok;
  } catch (error) {
    const failure = tell(error, terminal);
    if (failure) report(failure, terminal, argv.includes('--json'));
    return failure?.exitCode ?? exitCodes.ok;
  }
}

/** The failure to report; `undefined` when help was asked for and given. */
function tell(error: unknown, terminal: Terminal): Failure | undefined {
  if (terminal.signal.aborted) return failureOf(new InterruptedError());
  if (!(error instanceof CommanderError)) return failureOf(error);
  if (error.exitCode === 0) return undefined;
  const message =
    error.code === 'commander.help' ? 'a command is missing; see above' : error.message.replace(/^error: /, '');
  return { exitCode: exitCodes.usage, code: 'invalid_request', message };
}

function report({ code, message }: Failure, terminal: Terminal, json: boolean): void {
  const text = json ? jsonLine({ error: { code, message } }) : `data-out-ops: ${printable(message)}`;
  terminal.report(`${text}\n`);
}
