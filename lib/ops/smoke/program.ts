import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { smokeIdPrefix } from '../../contract/messages.ts';
import { outputs } from '../../contract/outputs.ts';
import { operatorFiles } from '../../contract/synth.ts';
import { usageError } from '../../terminal/errors.ts';
import { warnOfCommit } from '../../terminal/git-warning.ts';
import { type Columns, createOutput, type Output } from '../../terminal/output.ts';
import { createProgram, runProgram } from '../../terminal/program.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { OpsError, opsFailure } from '../errors.ts';
import { type Deployment, findDeployment, targetOf } from '../target.ts';
import { type Check, type CheckResult, runCheck, runChecks } from './check.ts';
import { removeRuns } from './clean-up.ts';
import { makeIssuer, smokeVisa, visaFor } from './issuer.ts';
import { type Expected, type IssueVisa, type RunIds, runIds, startRun } from './run.ts';
import { removal, suite } from './suite.ts';
import { newUsers } from './users.ts';

type Named = 'stage' | 'region' | 'connection' | 'visa' | 'dataset' | 'issuer';
type SmokeOptions = { readonly [Name in Named]?: string | undefined } & {
  readonly aws?: boolean | undefined;
  readonly cleanUp?: boolean | undefined;
};

/** What settings say. */
interface ExpectedBySettings extends Expected {
  /** Suffix of the stack names of the local engine. */
  readonly stage?: string | undefined;
}

/** The local engine has the defaults. */
export interface SmokeSettings {
  readonly local: ExpectedBySettings;
  readonly deployed: ExpectedBySettings;
}

/** Room for a suffix in the names of users and objects. */
const datasetForm = /^SMOKE-[A-Za-z0-9-]{1,60}$/;

const columns: Columns<CheckResult> = [
  ['CHECK', ({ check }) => check],
  ['RESULT', ({ result }) => result],
  ['SECONDS', ({ seconds }) => seconds.toFixed(1), 'right'],
  ['FOUND', ({ found }) => found],
  ['WHAT TO DO', ({ remedy }) => remedy],
];

const help = `Target:
  Without --aws and --stage the local engine, found by --connection, else $DATA_OUT_CONNECTION, else .local/connection.json.
  With them the deployed stacks, with the credentials the AWS SDK finds (AWS_PROFILE, AWS_ACCESS_KEY_ID, ...).

What a run makes is removed at its end, also after Ctrl-C and after a failure. docs/smoke-test.md has more.`;

/**
 * Run the suite. @param argv the arguments alone
 * @param checks @default - the whole suite
 * @returns the exit code: 0 when no check failed
 */
export async function runSmoke(
  argv: readonly string[],
  terminal: Terminal,
  settings: SmokeSettings,
  checks: readonly Check[] = suite,
): Promise<number> {
  const program = createProgram(
    terminal,
    {
      name: 'smoke',
      description: 'Test a deployment with a throw-away dataset.',
      help,
      examples: [
        'npm run smoke',
        'npm run smoke -- --make-issuer private/smoke-issuer.json',
        'npm run smoke -- --stage test --issuer private/smoke-issuer.json',
      ],
    },
    (command) =>
      command
        .option('--stage <stage>', 'stage of the deployed stacks, as in private/settings.ts')
        .option('--aws', 'deployed stacks without a stage')
        .option('--region <region>', 'AWS region (default: $AWS_REGION, else from the profile)')
        .option('--connection <file>', 'connection file of the local engine')
        .option('--issuer <file>', 'private key of the test issuer')
        .option('--visa <file>', 'a visa for the dataset of --dataset, of a real issuer')
        .option('--dataset <id>', 'id of the throw-away dataset, SMOKE-...; needed with --visa')
        .option(
          '--make-issuer <file>',
          'make a test issuer: write its private key, and print its entry in the trust list',
        )
        .option('--clean-up', 'only remove what runs have left, also one that is under way'),
  );
  program.action(async ({ makeIssuer: name, json = false, quiet = false, ...options }) => {
    const output = createOutput(terminal, { json, quiet });
    if (name === undefined) {
      await test(options, terminal, output, settings, checks);
      return;
    }
    const file = resolve(terminal.folder, name);
    const entry = await makeIssuer(file);
    output.result(entry, JSON.stringify(entry, null, 2));
    output.note(`The private key is in ${name}: keep it. Put the entry above into ${operatorFiles.trustedIssuers}`);
    await warnOfCommit(file, output);
  });
  return await runProgram(program, argv, terminal, opsFailure);
}

async function test(
  options: SmokeOptions,
  terminal: Terminal,
  output: Output,
  settings: SmokeSettings,
  checks: readonly Check[],
): Promise<void> {
  // Wrong options are told before anything is asked.
  const ids = idsOf(options, terminal.now());
  const isDeployed = options.aws === true || options.stage !== undefined;
  const deployment = await findDeployment({ ...options, ...(isDeployed && { aws: true }) }, terminal);
  output.note(`target: ${deployment.description}`);
  if (options.cleanUp) {
    const found = await removeRuns(deployment);
    output.result({ removed: found }, found.length === 0 ? 'nothing was left' : `removed ${found.join(', ')}`);
    return;
  }
  const issueVisa = issuerOf(options, deployment, terminal);
  const visa = await visaOf(options, issueVisa, ids, terminal);
  await using run = startRun({
    ids,
    deployment,
    target: targetOf(deployment),
    expected: isDeployed ? settings.deployed : settings.local,
    access: accessTo(deployment, ids),
    visa,
    issueVisa,
    signal: terminal.signal,
    stage: isDeployed ? options.stage : settings.local.stage,
  });
  const results: CheckResult[] = [];
  const onResult = (result: CheckResult) => {
    results.push(result);
    output.note(`${result.result.padEnd(7)} ${result.check}`);
  };
  try {
    await runChecks(checks, run, onResult);
  } finally {
    onResult(await runCheck(removal, run));
    output.table(columns, results);
  }
  terminal.signal.throwIfAborted();
  const failed = results.filter(({ result }) => result === 'failed');
  if (failed.length === 0) return;
  throw new OpsError(
    'verification_failed',
    `${failed.length} of ${results.length} checks failed: ${failed.map(({ id }) => id).join(', ')}`,
  );
}

/** @throws UsageError */
function idsOf({ visa, dataset, issuer }: SmokeOptions, now: Date): RunIds {
  if (visa !== undefined && issuer !== undefined) throw usageError('--visa', 'goes without --issuer');
  if ((visa === undefined) !== (dataset === undefined))
    throw usageError('--visa', 'goes with --dataset, and --dataset with it');
  if (dataset !== undefined && !datasetForm.test(dataset)) {
    throw usageError('--dataset', `expected ${smokeIdPrefix} and at most 60 letters, digits and dashes`);
  }
  return runIds(now, dataset);
}

/** Signs visas with the key of `--issuer`, or of the local engine. */
function issuerOf(
  { visa, issuer }: SmokeOptions,
  { connection }: Deployment,
  { folder }: Terminal,
): IssueVisa | undefined {
  if (visa !== undefined) return undefined;
  if (issuer !== undefined) return (...request) => smokeVisa(resolve(folder, issuer), ...request);
  return connection && ((...request) => visaFor(connection.issuer, ...request));
}

/** @throws UsageError when there is no way to a visa */
async function visaOf(
  { visa }: SmokeOptions,
  issueVisa: IssueVisa | undefined,
  { datasetId, username }: RunIds,
  terminal: Terminal,
): Promise<string> {
  if (visa !== undefined) return (await readFile(resolve(terminal.folder, visa), 'utf8')).trim();
  if (issueVisa) return await issueVisa(username, datasetId, terminal.now());
  throw usageError(
    '--issuer',
    'a deployed stack is tested with a visa',
    'Give --issuer with the key of a test issuer, or --visa and --dataset. docs/smoke-test.md says which.',
  );
}

function accessTo({ connection, outputs: stack }: Deployment, { username }: RunIds) {
  const { admin, archiveUser } = connection ?? {};
  const users = admin && archiveUser ? { admin, archiveUser } : newUsers(username);
  return { proxyUrl: stack[outputs.proxyUrl], dataOutUrl: stack[outputs.dataOutUrl], ...users };
}
