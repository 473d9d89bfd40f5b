import { stackNames } from '../../contract/outputs.ts';
import { SettingsError } from '../../infra/check-settings.ts';
import type { ExistingBucket, ExistingDatabase, Settings } from '../../infra/settings.ts';
import { errorName } from '../../service/stores/aws-failure.ts';
import { type Columns, createOutput } from '../../terminal/output.ts';
import { createProgram, runProgram } from '../../terminal/program.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { OpsError, opsFailure } from '../errors.ts';
import { type AwsAccount, type awsAccount, isNotAllowed } from '../stores/account.ts';

/** One line of the preflight. */
interface PreflightResult {
  /** Stable, for scripts. */
  readonly id: string;
  readonly check: string;
  /** `look`: a person must decide. `not allowed`: these credentials may not ask. Neither is a failure. */
  readonly result: 'fine' | 'look' | 'wrong' | 'not allowed';
  readonly found: string;
  readonly remedy?: string;
}

const columns: Columns<PreflightResult> = [
  ['CHECK', ({ check }) => check],
  ['RESULT', ({ result }) => result],
  ['FOUND', ({ found }) => found],
  ['WHAT TO DO', ({ remedy }) => remedy],
];

/** What the deployment is to be. */
export interface Planned {
  readonly settings: Settings;
  /** The synthesized templates of both stacks. */
  readonly templates: readonly object[];
  /** Major version of Aurora PostgreSQL that a new cluster gets. */
  readonly engineVersion: string;
}
type Asked = Planned & { readonly account: AwsAccount; readonly region: string };

/** What a question found out. */
type Outcome = Pick<PreflightResult, 'result' | 'found' | 'remedy'>;
const fine = (found: string): Outcome => ({ result: 'fine', found });
const review = (found: string, remedy: string): Outcome => ({ result: 'look', found, remedy });
const wrong = (found: string, remedy: string): Outcome => ({ result: 'wrong', found, remedy });

/** Stacks of this version name it in their manifest: `requiresBootstrapStackVersion`. */
const bootstrapVersion = 6;
/** AWS Lambda keeps so many invocations free of reservations (developer guide, reserved concurrency). */
const alwaysUnreserved = 100;

/** Asks whether a deployment can succeed. @returns the exit code: 0 when nothing is wrong */
export async function runPreflight(
  argv: readonly string[],
  terminal: Terminal,
  inputs: Omit<Planned, 'templates'> & {
    readonly account: typeof awsAccount;
    /** Synthesizes both stacks. @throws SettingsError */
    readonly templates: () => Promise<readonly object[]>;
  },
): Promise<number> {
  const about = {
    name: 'preflight',
    description: 'Ask the account before the first deployment whether it can succeed.',
    help: `It asks with the credentials that the AWS SDK finds (AWS_PROFILE, AWS_ACCESS_KEY_ID, ...), and changes nothing.
A line that is wrong makes the exit code 1. docs/smoke-test.md has more.`,
    examples: ['npm run preflight', 'npm run preflight -- --region eu-north-1'],
  };
  const program = createProgram(terminal, about, (command) =>
    command.option('--region <region>', 'AWS region (default: from the settings, $AWS_REGION or the profile)'),
  );
  program.action(async ({ region = inputs.settings.target?.region, json = false, quiet = false }) => {
    const { signal } = terminal;
    const templates = await inputs.templates().catch((error: unknown) => {
      throw error instanceof SettingsError ? new OpsError('unusable_input', error.message) : error;
    });
    const account = inputs.account({ signal, ...(region !== undefined && { region }) });
    const results = await askAccount(account, { ...inputs, templates }, signal);
    createOutput(terminal, { json, quiet }).table(columns, results);
    const failed = results.filter(({ result }) => result === 'wrong').map(({ id }) => id);
    if (failed.length === 0) return;
    const message = `${failed.length} of ${results.length} checks are wrong: ${failed.join(', ')}`;
    throw new OpsError('verification_failed', message);
  });
  return await runProgram(program, argv, terminal, opsFailure);
}

/**
 * Ask an account about what CloudFormation would report late or badly.
 * @throws UsageError without a region, and the errors of missing credentials
 */
export async function askAccount(account: AwsAccount, planned: Planned, signal?: AbortSignal) {
  // First: without credentials nothing else can be asked.
  const { id, arn, region } = await account.identity();
  const found = `${id} in ${region}, as ${arn}`;
  const { target } = planned.settings;
  const fits = target === undefined || (target.account === id && target.region === region);
  const remedy = `The settings name ${target?.account} in ${target?.region}: log in there, or change target.`;
  const place = fits ? fine(found) : wrong(found, remedy);
  const results: PreflightResult[] = [{ id: 'account', check: 'account and region', ...place }];
  for (const [id, check, ask] of questions({ ...planned, account, region })) {
    results.push({ id, check, ...(await ask().catch(failed)) });
    signal?.throwIfAborted();
  }
  return results;
}

function failed(error: unknown): Outcome {
  if (isNotAllowed(error)) {
    const remedy = 'Ask someone with the rights to look, or deploy and see.';
    return { result: 'not allowed', found: 'these credentials may not ask', remedy };
  }
  const found = `AWS answered ${errorName(error) || 'nothing'}`;
  return review(found, 'Give the same command again. If it stays so, review by hand.');
}

type Question = readonly [id: string, check: string, ask: () => Promise<Outcome>];

function questions(asked: Asked): readonly Question[] {
  const { archiveBucket, otherArchiveBuckets = [], archiveKeysSecret, database } = asked.settings;
  const buckets = [...(archiveBucket ? [archiveBucket] : []), ...otherArchiveBuckets];
  const secretArn = archiveKeysSecret?.secretArn;
  return [
    ['bootstrap', 'CDK bootstrap', () => bootstrap(asked)],
    ['lambda', 'concurrent functions', () => concurrency(asked)],
    ['log-role', 'log role of API Gateway', () => logRole(asked)],
    'clusterArn' in database
      ? ['database', 'the cluster of the settings', () => cluster(asked, database)]
      : ['database', 'database engine and Data API in the region', () => engine(asked)],
    ...buckets.map((each): Question => {
      const { bucketName: name } = each;
      return [`bucket-${name}`, `a byte of the bucket ${name}`, () => bucket(asked, each)];
    }),
    ...(secretArn ? [['secret', 'the secret with the archive keys', () => secret(asked, secretArn)] as const] : []),
  ];
}

async function bootstrap({ account }: Asked): Promise<Outcome> {
  const found = await account.stack('CDKToolkit');
  const version = Number(found?.BootstrapVersion);
  if (version >= bootstrapVersion) return fine(`version ${version}`);
  const lacking = found ? `version ${version}, needed is ${bootstrapVersion}` : 'there is no stack CDKToolkit';
  return wrong(lacking, 'Give npx cdk bootstrap.');
}

interface Resource {
  readonly Type: string;
  readonly Properties?: {
    readonly ReservedConcurrentExecutions?: number;
    readonly ScalingConfig?: { readonly MaximumConcurrency: number };
  };
}

/** What the functions of templates reserve, and what their queues run at once. */
export function concurrencyOf(templates: readonly object[]): { readonly reserved: number; readonly queues: number } {
  const all = templates.flatMap((template) =>
    Object.values((template as { readonly Resources: Readonly<Record<string, Resource>> }).Resources),
  );
  const sum = (type: string, of: (properties: Resource['Properties']) => number | undefined) =>
    all.reduce((total, { Type, Properties }) => total + (Type === type ? (of(Properties) ?? 0) : 0), 0);
  return {
    reserved: sum('AWS::Lambda::Function', (properties) => properties?.ReservedConcurrentExecutions),
    queues: sum('AWS::Lambda::EventSourceMapping', (properties) => properties?.ScalingConfig?.MaximumConcurrency),
  };
}

async function concurrency({ account, settings, templates }: Asked): Promise<Outcome> {
  const { all, unreserved } = await account.lambdaConcurrency();
  const { reserved, queues } = concurrencyOf(templates);
  const found = `${all} in all, ${unreserved} unreserved; the stacks reserve ${reserved}, and their queues use up to ${queues}`;
  const least = reserved > 0 ? Math.max(alwaysUnreserved, queues + 1) : queues + 1;
  if (unreserved - reserved >= least) return fine(found);
  const remedy =
    'Ask Service Quotas for 1,000 concurrent executions of Lambda, or lower the setting concurrency; ' +
    "its directFiles: 'off' reserves none.";
  if (unreserved >= least && (await account.stack(stackNames(settings.stage).service))) {
    return review(found, `If the deployed functions have reserved theirs already, do nothing. Else: ${remedy}`);
  }
  return wrong(`${found}; ${least} must stay unreserved`, remedy);
}

async function logRole({ account, settings: { apiGatewayLogRole: setting } }: Asked): Promise<Outcome> {
  const role = await account.apiGatewayLogRole();
  if (setting === 'present') {
    const remedy = "Set apiGatewayLogRole: 'create'. Without a role the APIs cannot be deployed.";
    return role === undefined ? wrong('the account has none', remedy) : fine(role);
  }
  if (role === undefined) return fine('the account has none: the deployment makes one');
  return review(
    `${role} would be replaced`,
    "If other APIs of the account and region use it, set apiGatewayLogRole: 'present'. After an earlier deployment it is ours.",
  );
}

async function engine({ account, region, engineVersion }: Asked): Promise<Outcome> {
  const { offered, dataApi } = await account.auroraServerless(engineVersion);
  const text = `Aurora PostgreSQL ${engineVersion} for Serverless v2`;
  if (!offered) return wrong(`${region} does not offer ${text}`, 'Choose another region.');
  if (!dataApi) return wrong(`${text} without the Data API`, 'Choose a region that has the RDS Data API.');
  return fine(`${text} with the Data API`);
}

async function cluster({ account, region }: Asked, wanted: ExistingDatabase): Promise<Outcome> {
  const found = await account.cluster(wanted.clusterArn);
  const mistaken = 'Correct database.clusterArn, or the region.';
  if (!found) return wrong(`there is no ${wanted.clusterArn} in ${region}`, mistaken);
  const text = `${found.engine} ${found.version}, Data API ${found.dataApi ? 'on' : 'off'}`;
  if (found.engine !== 'aurora-postgresql') return wrong(text, 'Name a cluster of Aurora PostgreSQL.');
  if (!found.dataApi) return wrong(text, 'Switch the RDS Data API of the cluster on.');
  const { restricted, manager } = await account.passwordRights(wanted);
  if (!restricted) {
    return review(
      "rds.restrict_password_commands is off: each function's login can change its own password, and lock the other functions out",
      'Set the parameter to 1 in the parameter group of the cluster, and reboot the writer.',
    );
  }
  if (manager) return fine(text);
  return wrong(
    'only members of rds_password may set passwords, and the owner is not one: Migrate fails',
    'As the administrator of the cluster, run GRANT rds_password TO the user of database.secretArn.',
  );
}

/**
 * Read as the functions will: by rights of IAM, and outside of every VPC. What the policy of the bucket or of its key refuses to these
 * credentials, it refuses to the functions, unless it names them.
 */
async function bucket({ account, region }: Asked, { bucketName }: ExistingBucket): Promise<Outcome> {
  const found = await account.bucketRegion(bucketName);
  if (found === undefined) return wrong('there is none of this name', 'Correct the name in private/settings.ts.');
  const place = found === 'elsewhere' ? 'another region' : found;
  if (found !== region) return wrong(`it is in ${place}`, `Archive buckets must be in ${region}.`);
  try {
    if (await account.testRead(bucketName)) return fine('read one');
    return review('the bucket is empty', 'Ask again when it has an object.');
  } catch (error) {
    // In the words of AWS. A refusal by the caller's own policies says nothing about the functions, so it is not matched.
    const [reason] = /(explicit deny in|no) (a )?resource-based policy\b.*/.exec(String(error)) ?? [];
    if (reason === undefined) throw error;
    return wrong(
      `refused: ${reason}`,
      'Change the policies of the bucket and of its key: they must let roles of the account read, and not only from a VPC endpoint.',
    );
  }
}

async function secret({ account }: Asked, arn: string): Promise<Outcome> {
  if (await account.hasSecret(arn)) return fine('it exists');
  return wrong(`there is no ${arn}`, 'Correct archiveKeysSecret.secretArn in private/settings.ts.');
}
