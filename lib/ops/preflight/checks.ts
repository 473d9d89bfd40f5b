import { stackNames } from '../../contract/outputs.ts';
import { reservedForDirectFiles, type Settings } from '../../infra/settings.ts';
import { errorName } from '../../service/stores/aws-failure.ts';
import { type AwsAccount, isNotAllowed } from '../stores/account.ts';
import { database } from './database.ts';
import { named } from './named.ts';
import { fine, type Outcome, type PreflightResult, type Question, review, wrong } from './outcome.ts';
import { prerequisites } from './prerequisites.ts';

/** What the deployment is to be. */
export interface Planned {
  readonly settings: Settings;
  /** Major version of Aurora PostgreSQL that a new cluster gets. */
  readonly engineVersion: string;
}

/** Stacks of this version name it in their manifest: `requiresBootstrapStackVersion`. */
const bootstrapVersion = 6;
/** AWS Lambda keeps so many invocations free of reservations (developer guide, reserved concurrency). */
const alwaysUnreserved = 100;

interface Quota {
  readonly id: string;
  readonly name: string;
  /** Codes of Service Quotas. */
  readonly service: string;
  readonly code: string;
  /** How many two stacks with the default settings make, or a little more. */
  readonly needed: number;
  /** How many the region has. */
  readonly used: (account: AwsAccount) => Promise<number>;
}

const quotas: readonly Quota[] = [
  {
    ...{ id: 'apis', name: 'Regional APIs', service: 'apigateway', code: 'L-AA0FF27B', needed: 2 },
    used: (account) => account.restApis(),
  },
  {
    ...{ id: 'keys', name: 'KMS keys', service: 'kms', code: 'L-C2F1777E', needed: 20 },
    used: (account) => account.customerKeys(),
  },
  {
    ...{ id: 'secrets', name: 'secrets', service: 'secretsmanager', code: 'L-2F66C23C', needed: 20 },
    used: (account) => account.secrets(),
  },
];
/** Of a database that the stacks make. */
const networks: Quota = {
  ...{ id: 'networks', name: 'VPCs', service: 'vpc', code: 'L-F678F1CE', needed: 1 },
  used: (account) => account.networks(),
};

/**
 * Ask an account whether it can take the deployment.
 *
 * @param signal ends it
 * @throws MissingRegionError, and the errors of missing credentials
 */
export async function askAccount(
  account: AwsAccount,
  planned: Planned,
  signal?: AbortSignal,
): Promise<readonly PreflightResult[]> {
  const region = await account.region();
  // First: without credentials there is nothing to ask.
  const identity = await account.identity();
  const results = [placeOf(identity, region, planned.settings)];
  for (const question of questions(account, region, planned)) {
    results.push(await answer(question));
    signal?.throwIfAborted();
  }
  return results;
}

function placeOf(
  { account, arn }: Awaited<ReturnType<AwsAccount['identity']>>,
  region: string,
  { target }: Settings,
): PreflightResult {
  const about = { id: 'account', check: 'account and region' };
  const found = `${account} in ${region}, as ${arn}`;
  if (target === undefined || (target.account === account && target.region === region)) {
    return { ...about, ...fine(found) };
  }
  const remedy = `The settings name ${target.account} in ${target.region}: log in there, or change target.`;
  return { ...about, ...wrong(found, remedy) };
}

async function answer({ id, check, ask }: Question): Promise<PreflightResult> {
  try {
    return { id, check, ...(await ask()) };
  } catch (error) {
    if (isNotAllowed(error)) {
      const remedy = 'Ask someone with the rights to look, or deploy and see.';
      return { id, check, result: 'not allowed', found: 'these credentials may not ask', remedy };
    }
    const found = `AWS answered ${errorName(error) || 'nothing'}`;
    return { id, check, ...review(found, 'Give the same command again. If it stays so, review by hand.') };
  }
}

function questions(account: AwsAccount, region: string, { settings, engineVersion }: Planned): readonly Question[] {
  let described: ReturnType<typeof stacksOf> | undefined;
  const stacksOnce = () => {
    described ??= stacksOf(account, settings);
    return described;
  };
  const storageOutputs = async () => (await stacksOnce().catch(() => []))[0]?.outputs;
  return [
    { id: 'bootstrap', check: 'CDK bootstrap', ask: () => bootstrap(account) },
    { id: 'stacks', check: 'stacks of this stage', ask: () => stacks(stacksOnce, settings) },
    { id: 'lambda', check: 'concurrent functions', ask: () => concurrency(account, settings) },
    { id: 'log-role', check: 'log role of API Gateway', ask: () => logRole(account, settings) },
    ...[...quotas, ...('clusterArn' in settings.database ? [] : [networks])].map((each) =>
      quota(account, each, settings),
    ),
    ...prerequisites(account, settings, () => isDeployed(account, settings)),
    ...database(account, region, settings, engineVersion, storageOutputs),
    ...named(account, region, settings),
  ];
}

async function bootstrap(account: AwsAccount): Promise<Outcome> {
  const found = await account.stack('CDKToolkit');
  const remedy = 'Give npx cdk bootstrap.';
  if (!found) return wrong('there is no stack CDKToolkit', remedy);
  const version = Number(found.outputs.BootstrapVersion);
  if (!(version >= bootstrapVersion)) return wrong(`version ${version}, needed is ${bootstrapVersion}`, remedy);
  return fine(`version ${version}`);
}

/** Those of the stage, in the order of their names; `undefined` for one that is not there. */
function stacksOf(account: AwsAccount, { stage }: Settings) {
  return Promise.all(Object.values(stackNames(stage)).map((name) => account.stack(name)));
}

/** Whether both stacks are there: what they have is in use already. */
async function isDeployed(account: AwsAccount, settings: Settings): Promise<boolean> {
  return (await stacksOf(account, settings)).every((stack) => stack !== undefined);
}

async function stacks(described: () => ReturnType<typeof stacksOf>, settings: Settings): Promise<Outcome> {
  const names = Object.values(stackNames(settings.stage));
  const found = await described();
  const states = found.flatMap((stack, index) => (stack ? [`${names[index]} is ${stack.status}`] : []));
  if (states.length === 0) return fine(`${names.join(' and ')} are not there yet`);
  const broken = found.some(
    (stack) => stack && !/^(CREATE|UPDATE|UPDATE_ROLLBACK|IMPORT)_COMPLETE$/.test(stack.status),
  );
  const remedy = 'A deployment changes these stacks. If you want another deployment, choose another stage.';
  return broken
    ? wrong(states.join(', '), 'See docs/operations.md#a-deployment-that-failed.')
    : review(states.join(', '), remedy);
}

async function concurrency(account: AwsAccount, settings: Settings): Promise<Outcome> {
  const { all, unreserved } = await account.lambdaConcurrency();
  const { exportRequests, fileExports, smallFileExports = fileExports } = settings.concurrency;
  // Direct files and htsget reserve as many each.
  const directFiles = 2 * reservedForDirectFiles(settings);
  // Two more close requests.
  const exports = exportRequests + fileExports + smallFileExports + 2;
  const found = `${all} in all, ${unreserved} unreserved; exports use up to ${exports}`;
  const lackOf = (free: number) => {
    if (directFiles > 0 && free < alwaysUnreserved) {
      return `; ${directFiles} are to be reserved, and ${alwaysUnreserved} must stay`;
    }
    return free <= exports ? ': none is left for requests' : undefined;
  };
  const lack = lackOf(unreserved - directFiles);
  if (lack === undefined) return fine(found);
  const remedy =
    'Ask Service Quotas for 1,000 concurrent executions of Lambda, or lower the setting concurrency; ' +
    "its directFiles: 'off' reserves none.";
  if (lackOf(unreserved) === undefined && (await isDeployed(account, settings))) {
    return review(
      `${found}${lack}`,
      `If the deployed functions have reserved theirs already, do nothing. Else: ${remedy}`,
    );
  }
  return wrong(`${found}${lack}`, remedy);
}

async function logRole(account: AwsAccount, { apiGatewayLogRole: setting }: Settings): Promise<Outcome> {
  const role = await account.apiGatewayLogRole();
  if (setting === 'present') {
    if (role !== undefined) return fine(role);
    return wrong(
      'the account has none',
      "Set apiGatewayLogRole: 'create'. Without a role the APIs cannot be deployed.",
    );
  }
  if (role === undefined) return fine('the account has none: the deployment makes one');
  return review(
    `${role} would be replaced`,
    "If other APIs of the account and region use it, set apiGatewayLogRole: 'present'. After an earlier deployment it is ours.",
  );
}

function quota(
  account: AwsAccount,
  { id, name, service, code, needed, used: count }: Quota,
  settings: Settings,
): Question {
  const ask = async () => {
    const [value, used] = await Promise.all([account.quota(service, code), count(account)]);
    if (value === undefined) return review(`${used} are used; the quota is not known`, `Look at the quota ${code}.`);
    const found = `${used} of ${value} are used, ${needed} ${needed === 1 ? 'is' : 'are'} needed`;
    if (used + needed <= value) return fine(found);
    if (await isDeployed(account, settings)) return fine(`${used} of ${value} are used, with those of the stacks`);
    return wrong(found, `Ask Service Quotas for more ${name} (${code}), or choose another region.`);
  };
  return { id: `quota-${id}`, check: `quota: ${name}`, ask };
}
