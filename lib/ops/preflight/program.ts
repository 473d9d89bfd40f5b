import { usageError } from '../../terminal/errors.ts';
import { type Columns, createOutput } from '../../terminal/output.ts';
import { createProgram, runProgram } from '../../terminal/program.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { OpsError, opsFailure } from '../errors.ts';
import type { awsAccount } from '../stores/account.ts';
import { askAccount, type Planned, type PreflightResult } from './checks.ts';
import { checkOffline, type LocalInputs } from './offline.ts';

const columns: Columns<PreflightResult> = [
  ['CHECK', ({ check }) => check],
  ['RESULT', ({ result }) => result],
  ['FOUND', ({ found }) => found],
  ['WHAT TO DO', ({ remedy }) => remedy],
];

const help = `Without --aws it looks only at the files of this folder. With --aws it also asks the account, with the credentials that the
AWS SDK finds (AWS_PROFILE, AWS_ACCESS_KEY_ID, ...). It changes nothing.
A line that is wrong makes the exit code 1. docs/smoke-test.md has more.`;

/** What the preflight looks at. */
export interface PreflightInputs extends LocalInputs, Pick<Planned, 'settings' | 'engineVersion'> {
  readonly account: typeof awsAccount;
  /** Synthesizes both stacks. */
  readonly templates: () => Promise<readonly object[]>;
}

/** Checks whether a deployment can succeed. @returns the exit code: 0 when nothing is wrong */
export async function runPreflight(
  argv: readonly string[],
  terminal: Terminal,
  inputs: PreflightInputs,
): Promise<number> {
  const about = {
    name: 'preflight',
    description: 'Look before the first deployment whether it can succeed.',
    help,
    examples: ['npm run preflight', 'npm run preflight -- --aws --region eu-north-1'],
  };
  const program = createProgram(terminal, about, (command) =>
    command
      .option('--aws', 'also check the account')
      .option('--region <region>', 'AWS region (with --aws; default: from the settings, $AWS_REGION or the profile)'),
  );
  program.action(async ({ aws, region, json = false, quiet = false }) => {
    if (region !== undefined && !aws) throw usageError('--region', 'is for an account: add --aws');
    const output = createOutput(terminal, { json, quiet });
    const results = [...checkOffline(inputs)];
    const isWrong = ({ result }: PreflightResult) => result === 'wrong';
    // Only settings that can work have templates.
    const asks = aws && !results.some((each) => each.id === 'settings' && isWrong(each));
    try {
      if (asks) {
        const named = region ?? inputs.settings.target?.region;
        const account = inputs.account({ signal: terminal.signal, ...(named !== undefined && { region: named }) });
        const planned = { ...inputs, templates: await inputs.templates() };
        results.push(...(await askAccount(account, planned, terminal.signal)));
      }
    } finally {
      // What needs no account is said anyway.
      output.table(columns, results);
    }
    if (!asks) output.note(`The account was not asked: ${aws ? 'correct the settings first' : 'add --aws'}.`);
    const failed = results.filter(isWrong).map(({ id }) => id);
    if (failed.length === 0) return;
    const message = `${failed.length} of ${results.length} checks are wrong: ${failed.join(', ')}`;
    throw new OpsError('verification_failed', message);
  });
  return await runProgram(program, argv, terminal, opsFailure);
}
