import { ACMClient, DescribeCertificateCommand } from '@aws-sdk/client-acm';
import {
  APIGatewayClient,
  GetAccountCommand,
  GetDomainNameCommand,
  paginateGetRestApis,
} from '@aws-sdk/client-api-gateway';
import { CloudControlClient, GetResourceCommand, paginateListResources } from '@aws-sdk/client-cloudcontrol';
import { CloudFormationClient } from '@aws-sdk/client-cloudformation';
import { CloudTrailClient, DescribeTrailsCommand } from '@aws-sdk/client-cloudtrail';
import { KMSClient, paginateListAliases, paginateListKeys } from '@aws-sdk/client-kms';
import { GetAccountSettingsCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { DescribeDBClustersCommand, DescribeOrderableDBInstanceOptionsCommand, RDSClient } from '@aws-sdk/client-rds';
import { GetObjectCommand, HeadBucketCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import { DescribeSecretCommand, paginateListSecrets, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { GetServiceQuotaCommand, ServiceQuotasClient } from '@aws-sdk/client-service-quotas';
import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts';
import type { Connection } from '../../contract/connection.ts';
import { errorName, errorStatus } from '../../service/stores/aws-failure.ts';
import { type AwsClientOptions, forOperators, rdsDataClient } from '../../service/stores/clients.ts';
import { DataApi } from '../../service/stores/rds/data-api.ts';
import { describeStack, regionOf } from './stacks.ts';

/** A cluster, as far as a deployment depends on it. */
export interface ClusterFacts {
  readonly engine: string;
  readonly version: string;
  /** Whether the RDS Data API is switched on. */
  readonly dataApi: boolean;
}

function clientsOf(options: AwsClientOptions, endpoints: Connection['endpoints'] | undefined) {
  const at = (service: keyof Connection['endpoints']): AwsClientOptions => ({
    ...options,
    ...forOperators,
    ...(endpoints && { endpoint: endpoints[service] }),
  });
  return {
    sts: new STSClient(at('sts')),
    acm: new ACMClient(at('acm')),
    cloudTrail: new CloudTrailClient(at('cloudTrail')),
    cloudControl: new CloudControlClient(at('cloudControl')),
    cloudFormation: new CloudFormationClient(at('cloudFormation')),
    kms: new KMSClient(at('kms')),
    lambda: new LambdaClient(at('lambda')),
    rds: new RDSClient(at('rds')),
    rdsData: rdsDataClient(at('rdsData')),
    apiGateway: new APIGatewayClient(at('apiGateway')),
    quotas: new ServiceQuotasClient(at('serviceQuotas')),
    s3: new S3Client({ ...at('s3'), forcePathStyle: endpoints !== undefined }),
    secrets: new SecretsManagerClient(at('secretsManager')),
  };
}

/**
 * Questions to one account and region before a deployment. None of them changes anything. Each method throws the error of AWS
 * for a question that may not be asked: see {@link isNotAllowed}.
 */
export class AwsAccount {
  readonly #stop: { readonly abortSignal?: AbortSignal };
  readonly #clients: ReturnType<typeof clientsOf>;

  /**
   * @param options.signal ends a question that AWS does not answer
   * @param endpoints those of a local engine. @default - AWS
   */
  constructor(
    { signal, ...options }: Omit<AwsClientOptions, 'endpoint'> & { readonly signal?: AbortSignal } = {},
    endpoints?: Connection['endpoints'],
  ) {
    this.#stop = signal === undefined ? {} : { abortSignal: signal };
    this.#clients = clientsOf(options, endpoints);
  }

  /** @throws MissingRegionError */
  async region(): Promise<string> {
    return await regionOf(this.#clients.sts);
  }

  /** Account and ARN of the credentials. */
  async identity(): Promise<{ readonly account: string; readonly arn: string }> {
    const { Account: account = '', Arn: arn = '' } = await this.#clients.sts.send(
      new GetCallerIdentityCommand({}),
      this.#stop,
    );
    return { account, arn };
  }

  /** State and outputs of a stack; `undefined` when there is none. */
  stack(name: string): ReturnType<typeof describeStack> {
    return describeStack(this.#clients.cloudFormation, name, this.#stop);
  }

  /** Concurrent invocations that the account may have, and those of them that no function has reserved. */
  async lambdaConcurrency(): Promise<{ readonly all: number; readonly unreserved: number }> {
    const { AccountLimit: limit } = await this.#clients.lambda.send(new GetAccountSettingsCommand({}), this.#stop);
    return { all: limit?.ConcurrentExecutions ?? 0, unreserved: limit?.UnreservedConcurrentExecutions ?? 0 };
  }

  /**
   * Whether the region has an engine version for Aurora Serverless v2, and the Data API for it.
   *
   * @param version the major one alone stands for all of its minor ones
   */
  async auroraServerless(version: string): Promise<{ readonly offered: boolean; readonly dataApi: boolean }> {
    const command = { Engine: 'aurora-postgresql', EngineVersion: version, DBInstanceClass: 'db.serverless' };
    try {
      const { OrderableDBInstanceOptions: options = [] } = await this.#clients.rds.send(
        new DescribeOrderableDBInstanceOptionsCommand(command),
        this.#stop,
      );
      return { offered: options.length > 0, dataApi: options.some(({ SupportsHttpEndpoint }) => SupportsHttpEndpoint) };
    } catch (error) {
      // RDS has no error of its own for an unknown version.
      const isUnknown =
        errorName(error) === 'InvalidParameterCombination' &&
        /^Cannot find version/.test(String((error as Error).message));
      if (isUnknown) return { offered: false, dataApi: false };
      throw error;
    }
  }

  /** ARN of the role through which API Gateway writes logs; `undefined` when there is none. */
  async apiGatewayLogRole(): Promise<string | undefined> {
    return (await this.#clients.apiGateway.send(new GetAccountCommand({}), this.#stop)).cloudwatchRoleArn || undefined;
  }

  /** How many REST APIs the region has. */
  async restApis(): Promise<number> {
    let count = 0;
    const pages = paginateGetRestApis({ client: this.#clients.apiGateway }, { limit: 500 }, this.#stop);
    for await (const { items = [] } of pages) {
      count += items.filter(({ endpointConfiguration }) => endpointConfiguration?.types?.includes('REGIONAL')).length;
    }
    return count;
  }

  /** Whether API Gateway of this account and region serves a host name. */
  async hasDomain(name: string): Promise<boolean> {
    const request = this.#clients.apiGateway.send(new GetDomainNameCommand({ domainName: name }), this.#stop);
    return (await unless('NotFoundException', request)) !== undefined;
  }

  /** State and host names of a certificate; `undefined` when there is none. */
  async certificate(arn: string): Promise<{ readonly status: string; readonly names: readonly string[] } | undefined> {
    const request = this.#clients.acm.send(new DescribeCertificateCommand({ CertificateArn: arn }), this.#stop);
    const found = (await unless('ResourceNotFoundException', request))?.Certificate;
    return found && { status: found.Status ?? '', names: found.SubjectAlternativeNames ?? [] };
  }

  /** Whether the account has a role that belongs to a service, such as `AWSServiceRoleForRDS`. */
  async hasServiceRole(name: string): Promise<boolean> {
    const command = new GetResourceCommand({ TypeName: 'AWS::IAM::ServiceLinkedRole', Identifier: name });
    const request = this.#clients.cloudControl.send(command, this.#stop);
    return (await unless('ResourceNotFoundException', request)) !== undefined;
  }

  /** How many trails the region has, with those of other regions that record it: they count, too. */
  async trails(): Promise<number> {
    const command = new DescribeTrailsCommand({ includeShadowTrails: true });
    return (await this.#clients.cloudTrail.send(command, this.#stop)).trailList?.length ?? 0;
  }

  /** How many VPCs the region has. */
  networks(): Promise<number> {
    return this.#count('AWS::EC2::VPC');
  }

  /** How many resource policies CloudWatch Logs has in the region. */
  logPolicies(): Promise<number> {
    return this.#count('AWS::Logs::ResourcePolicy');
  }

  async #count(type: string): Promise<number> {
    let count = 0;
    const pages = paginateListResources({ client: this.#clients.cloudControl }, { TypeName: type }, this.#stop);
    for await (const { ResourceDescriptions: found = [] } of pages) count += found.length;
    return count;
  }

  /** How many KMS keys of its own the region has. Those that AWS manages for other services do not count against the quota. */
  async customerKeys(): Promise<number> {
    const keys = new Set<string | undefined>();
    const client = this.#clients.kms;
    for await (const { Keys: page = [] } of paginateListKeys({ client }, { Limit: 1000 }, this.#stop)) {
      for (const { KeyId: id } of page) keys.add(id);
    }
    for await (const { Aliases: page = [] } of paginateListAliases({ client }, { Limit: 100 }, this.#stop)) {
      // The prefix is reserved for AWS (API reference, CreateAlias).
      const ofAws = page.filter(({ AliasName: name }) => name?.startsWith('alias/aws/'));
      for (const { TargetKeyId: id } of ofAws) keys.delete(id);
    }
    return keys.size;
  }

  /** How many secrets the region has, with those that wait for their deletion. */
  async secrets(): Promise<number> {
    let count = 0;
    const input = { IncludePlannedDeletion: true, MaxResults: 100 };
    const pages = paginateListSecrets({ client: this.#clients.secrets }, input, this.#stop);
    for await (const { SecretList: page = [] } of pages) count += page.length;
    return count;
  }

  /** The applied value of a quota; `undefined` when Service Quotas does not know it. @param code such as `L-F678F1CE` */
  async quota(service: string, code: string): Promise<number | undefined> {
    const command = new GetServiceQuotaCommand({ ServiceCode: service, QuotaCode: code });
    const request = this.#clients.quotas.send(command, this.#stop);
    return (await unless('NoSuchResourceException', request))?.Quota?.Value;
  }

  /** Region of a bucket; `undefined` when there is none. `elsewhere`: in another region, which S3 does not always name. */
  async bucket(name: string): Promise<string | undefined> {
    try {
      return (await this.#clients.s3.send(new HeadBucketCommand({ Bucket: name }), this.#stop)).BucketRegion;
    } catch (error) {
      if (errorStatus(error) === 404) return undefined;
      if (errorStatus(error) === 301) return 'elsewhere';
      throw error;
    }
  }

  /** The database of a cluster, as the user of a secret. */
  database(parameters: {
    readonly clusterArn: string;
    readonly secretArn: string;
    readonly databaseName: string;
  }): DataApi {
    return new DataApi({ client: this.#clients.rdsData, ...parameters, database: parameters.databaseName });
  }

  /** Read a byte of some object, as the functions do. @returns whether the bucket has an object */
  async testRead(bucket: string): Promise<boolean> {
    const list = new ListObjectsV2Command({ Bucket: bucket, MaxKeys: 1 });
    // An empty object has no range.
    const found = (await this.#clients.s3.send(list, this.#stop)).Contents?.[0];
    if (found === undefined) return false;
    const range = found.Size ? { Range: 'bytes=0-0' } : {};
    const { Body: body } = await this.#clients.s3.send(
      new GetObjectCommand({ Bucket: bucket, Key: found.Key, ...range }),
      this.#stop,
    );
    await body?.transformToByteArray();
    return true;
  }

  /** @returns `undefined` when there is no such cluster */
  async cluster(arn: string): Promise<ClusterFacts | undefined> {
    const command = new DescribeDBClustersCommand({ DBClusterIdentifier: arn });
    const [found] =
      (await unless('DBClusterNotFoundFault', this.#clients.rds.send(command, this.#stop)))?.DBClusters ?? [];
    if (!found) return undefined;
    const { Engine: engine = '', EngineVersion: version = '', HttpEndpointEnabled: dataApi = false } = found;
    return { engine, version, dataApi };
  }

  /** Whether there is such a secret that is not about to be deleted. */
  async hasSecret(arn: string): Promise<boolean> {
    const request = this.#clients.secrets.send(new DescribeSecretCommand({ SecretId: arn }), this.#stop);
    const found = await unless('ResourceNotFoundException', request);
    return found !== undefined && found.DeletedDate === undefined;
  }
}

/** @returns `undefined` for an error of this name */
async function unless<T>(name: string, answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (errorName(error) === name) return undefined;
    throw error;
  }
}

/** Whether AWS says that these credentials may not ask. */
export function isNotAllowed(error: unknown): boolean {
  return /^(AccessDenied|UnauthorizedOperation|NotAuthorized)/.test(errorName(error)) || errorStatus(error) === 403;
}
