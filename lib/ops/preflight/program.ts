import { usageError } from '../../terminal/errors.ts';
import { type Columns, createOutput } from '../../terminal/output.ts';
import { createProgram, runProgram } from '../../terminal/program.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { OpsError, opsFailure } from '../errors.ts';
import type { AwsAccount, awsAccount } from '../stores/account.ts';
import { MissingRegionError } from '../stores/stacks.ts';
import { runningEngine } from '../target.ts';
import { askAccount, type Planned } from './checks.ts';
import { checkOffline, type LocalInputs } from './offline.ts';
import type { PreflightResult } from './outcome.ts';

const columns: Columns<PreflightResult> = [
  ['CHECK', ({ check }) => check],
  ['RESULT', ({ result }) => result],
  ['FOUND', ({ found }) => found],
  ['WHAT TO DO', ({ remedy }) => remedy],
];

const help = `Without --aws it looks at the files of this folder alone. With --aws it also asks the account, with the credentials the
AWS SDK finds (AWS_PROFILE, AWS_ACCESS_KEY_ID, ...), or with --connection that of a local engine. It changes nothing.
A line that is wrong makes the exit code 1. docs/smoke-test.md has more.`;

/** What the preflight looks at. */
export interface PreflightInputs extends Planned, LocalInputs {
  readonly account: typeof awsAccount;
}

/** Checks whether a deployment can succeed. @returns the exit code: 0 when nothing is wrong */
export async function runPreflight(
  argv: readonly string[],
  terminal: Terminal,
  inputs: PreflightInputs,
): Promise<number> {
  const program = createProgram(
    terminal,
    {
      name: 'preflight',
      description: 'Look before the first deployment whether it can succeed.',
      help,
      examples: [
        'npm run preflight',
        'npm run preflight -- --aws --region eu-north-1',
        'npm run preflight -- --aws --connection .local/connection.json',
      ],
    },
    (command) =>
      command
        .option('--aws', 'also check the account')
        .option('--region <region>', 'AWS region (with --aws; default: from the settings, $AWS_REGION or the profile)')
        .option('--connection <file>', 'connection file of a local engine, whose account is asked (with --aws)'),
  );
  program.action(async ({ aws, json = false, quiet = false, ...options }) => {
    for (const name of ['region', 'connection'] as const) {
      if (options[name] !== undefined && !aws) throw usageError(`--${name}`, 'is for an account: add --aws');
    }
    if (options.region !== undefined && options.connection !== undefined) {
      throw usageError('--connection', 'names the local engine, which has its region: leave --region out');
    }
    const output = createOutput(terminal, { json, quiet });
    const results = [...checkOffline(inputs)];
    if (aws) {
      const ask = async () => askAccount(await accountOf(options, terminal, inputs), inputs, terminal.signal);
      const asked = await ask().catch((error: unknown) => {
        // What needs no account is said anyway.
        output.table(columns, results);
        throw error instanceof MissingRegionError
          ? usageError('--aws', 'there is no valid region: say --region or AWS_REGION')
          : error;
      });
      results.push(...asked);
    }
    output.table(columns, results);
    if (!aws) output.note('The account was not asked: add --aws.');
    const failed = results.filter(({ result }) => result === 'wrong');
    if (failed.length > 0) {
      throw new OpsError(
        'verification_failed',
        `${failed.length} of ${results.length} checks are wrong: ${failed.map(({ id }) => id).join(', ')}`,
      );
    }
  });
  return await runProgram(program, argv, terminal, opsFailure);
}

async function accountOf(
  { region, connection }: { readonly region?: string | undefined; readonly connection?: string | undefined },
  terminal: Terminal,
  { settings, account }: PreflightInputs,
): Promise<AwsAccount> {
  const { signal } = terminal;
  if (connection !== undefined) {
    const engine = await runningEngine({ connection, aws: true }, terminal);
    return account({ region: engine.region, credentials: engine.credentials, signal }, engine.endpoints);
  }
  const named = region ?? settings.target?.region;
  return account(named === undefined ? { signal } : { region: named, signal });
}
