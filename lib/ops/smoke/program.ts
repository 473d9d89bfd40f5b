import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Connection } from '../../contract/connection.ts';
import { smokeIdPrefix } from '../../contract/messages.ts';
import { operatorFiles } from '../../contract/synth.ts';
import { usageError } from '../../terminal/errors.ts';
import { warnOfCommit } from '../../terminal/git-warning.ts';
import { type Columns, createOutput, type Output } from '../../terminal/output.ts';
import { createProgram, runProgram } from '../../terminal/program.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { opsFailure } from '../errors.ts';
import { findDeployment, type GlobalOptions } from '../target.ts';
import { type CheckResult, expectThat, runCheck } from './check.ts';
import { removal, removeRuns } from './clean-up.ts';
import { makeIssuer, readIssuer, visasBy } from './issuer.ts';
import { type Expected, type RunIds, runIds, startRun } from './run.ts';
import { suite } from './suite.ts';
import { newUsers } from './users.ts';

type SmokeOptions = GlobalOptions & {
  readonly [Name in 'visa' | 'dataset' | 'issuer']?: string | undefined;
} & { readonly cleanUp?: boolean | undefined };

/** What settings say. The local engine has the defaults. */
type SmokeSettings = Readonly<Record<'local' | 'deployed', Expected>>;

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

/** Run the suite. @param argv the arguments alone. @returns the exit code: 0 when no check failed */
export async function runSmoke(argv: readonly string[], terminal: Terminal, settings: SmokeSettings): Promise<number> {
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
        .option('--stage <stage>', 'deployed stacks whose setting stage is this')
        .option('--aws', 'deployed stacks without the setting stage')
        .option('--region <region>', 'AWS region (default: $AWS_REGION, else from the profile)')
        .option('--connection <file>', 'connection file of the local engine')
        .option('--issuer <file>', 'private key of the test issuer')
        .option('--visa <file>', 'a visa for the dataset of --dataset, of a real issuer')
        .option('--dataset <id>', 'id of the throw-away dataset, SMOKE-...; needed with --visa')
        .option('--make-issuer <file>', 'write the private key of a test issuer, and print its entry in the trust list')
        .option('--clean-up', 'only remove what runs have left, also one that is under way'),
  );
  program.action(async ({ makeIssuer: name, json = false, quiet = false, ...options }) => {
    const output = createOutput(terminal, { json, quiet });
    if (name === undefined) {
      await test(options, terminal, output, settings);
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

async function test(options: SmokeOptions, terminal: Terminal, output: Output, settings: SmokeSettings): Promise<void> {
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
  const { connection } = deployment;
  const expected = isDeployed ? settings.deployed : settings.local;
  await using run = startRun({
    ...{ ids, deployment, expected, signal: terminal.signal, access: connection ?? newUsers(ids.username) },
    ...(await visasOf(options, connection, ids, terminal)),
  });
  const results: CheckResult[] = [];
  const add = (result: CheckResult) => {
    results.push(result);
    output.note(`${result.result.padEnd(7)} ${result.check}`);
  };
  const passed = new Set<string>();
  try {
    for (const check of suite) {
      const result = await runCheck(check, run, passed);
      // What an interrupt breaks is not a failure of the service.
      terminal.signal.throwIfAborted();
      add(result);
    }
  } finally {
    add(await runCheck(removal, run));
    output.table(columns, results);
  }
  const failed = results.filter(({ result }) => result === 'failed').map(({ id }) => id);
  expectThat(failed.length === 0, `${failed.length} of ${results.length} checks failed: ${failed.join(', ')}`);
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

/** The visa of a run, and what signs others: the key of `--issuer`, or of the local engine. @throws UsageError */
async function visasOf(
  { visa, issuer }: SmokeOptions,
  connection: Connection | undefined,
  { username, datasetId }: RunIds,
  { folder, now }: Terminal,
) {
  if (visa !== undefined) return { visa: (await readFile(resolve(folder, visa), 'utf8')).trim() };
  const key = issuer === undefined ? connection?.issuer : await readIssuer(resolve(folder, issuer));
  if (key === undefined) {
    const remedy =
      'Give --issuer with the key of a test issuer, or --visa and --dataset. docs/smoke-test.md says which.';
    throw usageError('--issuer', 'a deployed stack is tested with a visa', remedy);
  }
  const issueVisa = visasBy(key);
  return { issueVisa, visa: await issueVisa(username, datasetId, now()) };
}
