import { stackNames } from '../../contract/outputs.ts';
import { reservedForDirectFiles, type Settings } from '../../infra/settings.ts';
import { errorName } from '../../service/stores/aws-failure.ts';
import { type AwsAccount, isNotAllowed } from '../stores/account.ts';
import { database } from './database.ts';
import { named } from './named.ts';
import { type Asked, fine, type Outcome, type PreflightResult, type Question, review, wrong } from './outcome.ts';
import { prerequisites } from './prerequisites.ts';

/** What the deployment is to be. */
export type Planned = Pick<Asked, 'settings' | 'engineVersion'>;

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
  readonly used: 'restApis' | 'customerKeys' | 'secrets' | 'networks';
}

const quotas: readonly Quota[] = [
  { id: 'apis', name: 'Regional APIs', service: 'apigateway', code: 'L-AA0FF27B', needed: 2, used: 'restApis' },
  { id: 'keys', name: 'KMS keys', service: 'kms', code: 'L-C2F1777E', needed: 20, used: 'customerKeys' },
  { id: 'secrets', name: 'secrets', service: 'secretsmanager', code: 'L-2F66C23C', needed: 20, used: 'secrets' },
];
/** Of a database that the stacks make. */
const networks: Quota = {
  id: 'networks',
  name: 'VPCs',
  service: 'vpc',
  code: 'L-F678F1CE',
  needed: 1,
  used: 'networks',
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
  const results: PreflightResult[] = [
    { id: 'account', check: 'account and region', ...placeOf(identity, region, planned.settings) },
  ];
  let described: ReturnType<Asked['stacks']> | undefined;
  const stacks = () => {
    described ??= Promise.all(Object.values(stackNames(planned.settings.stage)).map((name) => account.stack(name)));
    return described;
  };
  const isDeployed = async () => (await stacks()).every((stack) => stack !== undefined);
  for (const question of questions({ ...planned, account, region, stacks, isDeployed })) {
    results.push(await answer(question));
    signal?.throwIfAborted();
  }
  return results;
}

function placeOf(
  { account, arn }: Awaited<ReturnType<AwsAccount['identity']>>,
  region: string,
  { target }: Settings,
): Outcome {
  const found = `${account} in ${region}, as ${arn}`;
  if (target === undefined || (target.account === account && target.region === region)) return fine(found);
  return wrong(found, `The settings name ${target.account} in ${target.region}: log in there, or change target.`);
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

function questions(asked: Asked): readonly Question[] {
  const counted = 'clusterArn' in asked.settings.database ? quotas : [...quotas, networks];
  return [
    { id: 'bootstrap', check: 'CDK bootstrap', ask: () => bootstrap(asked) },
    { id: 'stacks', check: 'stacks of this stage', ask: () => stackStates(asked) },
    { id: 'lambda', check: 'concurrent functions', ask: () => concurrency(asked) },
    { id: 'log-role', check: 'log role of API Gateway', ask: () => logRole(asked) },
    ...counted.map((each) => ({
      id: `quota-${each.id}`,
      check: `quota: ${each.name}`,
      ask: () => quota(asked, each),
    })),
    ...prerequisites(asked),
    ...database(asked),
    ...named(asked),
  ];
}

async function bootstrap({ account }: Asked): Promise<Outcome> {
  const found = await account.stack('CDKToolkit');
  const remedy = 'Give npx cdk bootstrap.';
  if (!found) return wrong('there is no stack CDKToolkit', remedy);
  const version = Number(found.outputs.BootstrapVersion);
  if (!(version >= bootstrapVersion)) return wrong(`version ${version}, needed is ${bootstrapVersion}`, remedy);
  return fine(`version ${version}`);
}

async function stackStates({ stacks, settings }: Asked): Promise<Outcome> {
  const names = Object.values(stackNames(settings.stage));
  const found = await stacks();
  const states = found.flatMap((stack, index) => (stack ? [`${names[index]} is ${stack.status}`] : []));
  if (states.length === 0) return fine(`${names.join(' and ')} are missing yet`);
  const broken = found.some(
    (stack) => stack && !/^(CREATE|UPDATE|UPDATE_ROLLBACK|IMPORT)_COMPLETE$/.test(stack.status),
  );
  const remedy = 'A deployment changes these stacks. If you want another deployment, choose another stage.';
  return broken
    ? wrong(states.join(', '), 'See docs/operations.md#a-deployment-that-failed.')
    : review(states.join(', '), remedy);
}

async function concurrency({ account, settings, isDeployed }: Asked): Promise<Outcome> {
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
  if (lackOf(unreserved) === undefined && (await isDeployed())) {
    return review(
      `${found}${lack}`,
      `If the deployed functions have reserved theirs already, do nothing. Else: ${remedy}`,
    );
  }
  return wrong(`${found}${lack}`, remedy);
}

async function logRole({ account, settings: { apiGatewayLogRole: setting } }: Asked): Promise<Outcome> {
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

async function quota(
  { account, isDeployed }: Asked,
  { name, service, code, needed, used: kind }: Quota,
): Promise<Outcome> {
  const [value, used] = await Promise.all([account.quota(service, code), account[kind]()]);
  if (value === undefined) return review(`${used} are used; the quota is not known`, `Look at the quota ${code}.`);
  const found = `${used} of ${value} are used, ${needed} ${needed === 1 ? 'is' : 'are'} needed`;
  if (used + needed <= value) return fine(found);
  if (await isDeployed()) return fine(`${used} of ${value} are used, with those of the stacks`);
  return wrong(found, `Ask Service Quotas for more ${name} (${code}), or choose another region.`);
}
