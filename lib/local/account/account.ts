import type { Stack } from '../template/assembly.ts';
import type { Deployment } from '../template/deployment.ts';
import { stackId } from '../template/names.ts';
import { list, optionalNumber, optionalText, type Resource, record, text } from '../template/template.ts';

/** A stack, as CloudFormation describes it. */
export interface AccountStack {
  readonly status: string;
  readonly outputs: Readonly<Record<string, string>>;
  readonly createdAt: Date;
}

/** A database cluster, as RDS describes it. */
export interface AccountCluster {
  readonly engine: string;
  readonly version: string;
  /** Whether the RDS Data API is switched on. */
  readonly dataApi: boolean;
}

/** A certificate, as Certificate Manager describes it. */
export interface AccountCertificate {
  /** Such as `ISSUED` and `PENDING_VALIDATION`. */
  readonly status: string;
  /** Host names; `*.` stands for one label. */
  readonly names: readonly string[];
}

/**
 * What the account and its region have for an operator to ask about: the deployment, and what existed before it. Nothing here
 * limits what the engine does. Each call reads it again, so a test may change it at any time.
 */
export interface LocalAccount {
  /** Applied quotas, by service code and quota code: `vpc/L-F678F1CE`. */
  readonly quotas: Map<string, number>;
  /** By name. */
  readonly stacks: Map<string, AccountStack>;
  /** Concurrent invocations of Lambda. */
  concurrency: { readonly all: number; readonly unreserved: number };
  /** ARN of the role through which API Gateway writes logs. */
  apiGatewayLogRole: string | undefined;
  /** Endpoint types of REST APIs, by id. */
  readonly restApis: Map<string, readonly string[]>;
  /** Versions of Aurora PostgreSQL for Serverless v2, and whether they have the Data API. */
  readonly serverlessVersions: Map<string, boolean>;
  /** By ARN. */
  readonly clusters: Map<string, AccountCluster>;
  /** Whether each deployed stack and each cluster is protected against deletion, by ARN. */
  readonly protectedStacks: Map<string, boolean>;
  readonly protectedClusters: Map<string, boolean>;
  /** Ids of VPCs. */
  readonly networks: Set<string>;
  /** Names of the service-linked roles. */
  readonly serviceRoles: Set<string>;
  /** Names of CloudTrail's trails of the region, with those of other regions that record it. */
  readonly trails: Set<string>;
  /** Names of the resource policies of CloudWatch Logs. */
  readonly logPolicies: Set<string>;
  /** By ARN. */
  readonly certificates: Map<string, AccountCertificate>;
  /** Host names that API Gateway serves. */
  readonly domains: Set<string>;
  /** Ids of KMS keys. AWS gave those that it manages an alias, `alias/aws/s3`. */
  readonly keys: Map<string, string | undefined>;
  /** Secrets that wait for their deletion, by ARN, and since when. */
  readonly deletedSecrets: Map<string, Date>;
}

/** Default quotas of a new account, each by the page of its service. */
const defaultQuotas = [
  ['apigateway/L-AA0FF27B', 600],
  ['kms/L-C2F1777E', 100_000],
  ['secretsmanager/L-2F66C23C', 500_000],
  ['vpc/L-F678F1CE', 5],
] as const;
/** Lambda: 1,000, though new accounts may have fewer. */
const concurrentExecutions = 1000;
/** The version that the manifests of the stacks ask for. */
const bootstrapVersion = '6';

/** The account in which the stacks were deployed. It had a default VPC, a key of AWS, and CDK's bootstrap before. */
export function localAccount(deployment: Deployment, stacks: readonly Stack[], now: Date): LocalAccount {
  const clusters = deployment.resources('AWS::RDS::DBCluster');
  const reserved = deployment
    .resources('AWS::Lambda::Function')
    .reduce((sum, each) => sum + (optionalNumber(each, 'ReservedConcurrentExecutions') ?? 0), 0);
  const [logs] = deployment.resources('AWS::ApiGateway::Account');
  const ids = (type: string) => deployment.resources(type).map(({ id }) => id);
  const toolkit = { status: 'CREATE_COMPLETE', outputs: { BootstrapVersion: bootstrapVersion }, createdAt: now };
  return {
    quotas: new Map(defaultQuotas),
    stacks: new Map([['CDKToolkit', toolkit], ...deployedStacks(stacks, deployment.outputs(), now)]),
    concurrency: { all: concurrentExecutions, unreserved: concurrentExecutions - reserved },
    apiGatewayLogRole: logs && optionalText(logs, 'CloudWatchRoleArn'),
    restApis: new Map(deployment.resources('AWS::ApiGateway::RestApi').map((api) => [api.id, endpointTypes(api)])),
    serverlessVersions: new Map(clusters.map((cluster) => [factsOf(cluster).version, true])),
    clusters: new Map(clusters.map((cluster) => [cluster.attribute('DBClusterArn'), factsOf(cluster)])),
    // Stacks are deployed without it.
    protectedStacks: new Map(stacks.map(({ name }) => [stackId(name, deployment.region), false])),
    protectedClusters: new Map(
      clusters.map((cluster) => [cluster.attribute('DBClusterArn'), cluster.property('DeletionProtection') === true]),
    ),
    networks: new Set(['vpc-default', ...ids('AWS::EC2::VPC')]),
    serviceRoles: new Set(clusters.length > 0 ? ['AWSServiceRoleForRDS'] : []),
    trails: new Set(ids('AWS::CloudTrail::Trail')),
    logPolicies: new Set(ids('AWS::Logs::ResourcePolicy')),
    certificates: new Map(
      deployment
        .resources('AWS::ApiGateway::DomainName')
        .map((each) => [text(each, 'RegionalCertificateArn'), { status: 'ISSUED', names: [text(each, 'DomainName')] }]),
    ),
    domains: new Set(deployment.resources('AWS::ApiGateway::DomainName').map((each) => text(each, 'DomainName'))),
    keys: new Map([['s3-of-aws', 'alias/aws/s3'], ...ids('AWS::KMS::Key').map((id) => [id, undefined] as const)]),
    deletedSecrets: new Map(),
  };
}

function deployedStacks(
  stacks: readonly Stack[],
  all: Readonly<Record<string, string>>,
  createdAt: Date,
): (readonly [string, AccountStack])[] {
  return stacks.map(({ name, template }) => {
    const outputs = Object.keys(template.Outputs ?? {}).flatMap((key) => {
      const value = all[key];
      return value === undefined ? [] : [[key, value] as const];
    });
    return [name, { status: 'CREATE_COMPLETE', outputs: Object.fromEntries(outputs), createdAt }];
  });
}

/** Edge-optimized is the default of CloudFormation. */
function endpointTypes(api: Resource): readonly string[] {
  const { Types: types } = record(api.property('EndpointConfiguration'));
  return types === undefined ? ['EDGE'] : list(types).map(String);
}

function factsOf(cluster: Resource): AccountCluster {
  return {
    engine: optionalText(cluster, 'Engine') ?? '',
    version: minorVersion(optionalText(cluster, 'EngineVersion') ?? ''),
    dataApi: cluster.property('EnableHttpEndpoint') === true,
  };
}

/** A cluster has a minor version, also where its template names the major one alone: AWS's default, which it upgrades. */
function minorVersion(version: string): string {
  return /^\d+$/.test(version) ? `${version}.6` : version;
}
