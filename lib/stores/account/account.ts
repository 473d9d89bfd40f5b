import { ACMClient, DescribeCertificateCommand } from '@aws-sdk/client-acm';
import {
  APIGatewayClient,
  GetAccountCommand,
  GetDomainNameCommand,
  paginateGetRestApis,
} from '@aws-sdk/client-api-gateway';
import { CloudControlClient, GetResourceCommand, paginateListResources } from '@aws-sdk/client-cloudcontrol';
import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { CloudTrailClient, DescribeTrailsCommand } from '@aws-sdk/client-cloudtrail';
import { KMSClient, paginateListAliases, paginateListKeys } from '@aws-sdk/client-kms';
import { GetAccountSettingsCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { DescribeDBClustersCommand, DescribeOrderableDBInstanceOptionsCommand, RDSClient } from '@aws-sdk/client-rds';
import type { RDSDataClient } from '@aws-sdk/client-rds-data';
import { GetObjectCommand, HeadBucketCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import { DescribeSecretCommand, paginateListSecrets, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { GetServiceQuotaCommand, ServiceQuotasClient } from '@aws-sdk/client-service-quotas';
import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts';
import { type AwsClientOptions, forOperators } from '../aws-client-options.ts';
import { errorName, errorStatus } from '../aws-failure.ts';
import { rdsDataClient } from '../rds/client.ts';
import { DataApi } from '../rds/data-api.ts';
import { MissingRegionError } from '../stack-outputs.ts';

/** Services that are asked. */
type Service =
  | 'acm'
  | 'apiGateway'
  | 'cloudControl'
  | 'cloudFormation'
  | 'cloudTrail'
  | 'kms'
  | 'lambda'
  | 'rds'
  | 'rdsData'
  | 's3'
  | 'secretsManager'
  | 'serviceQuotas'
  | 'sts';

/** A cluster, as far as a deployment depends on it. */
export interface ClusterFacts {
  readonly engine: string;
  readonly version: string;
  /** Whether the RDS Data API is switched on. */
  readonly dataApi: boolean;
}

/**
 * Questions to one account and region before a deployment. None of them changes anything. Each method throws the error of AWS
 * for a question that may not be asked: see {@link isNotAllowed}.
 */
export class AwsAccount {
  readonly #interruptible: { readonly abortSignal?: AbortSignal };
  readonly #sts: STSClient;
  readonly #acm: ACMClient;
  readonly #cloudTrail: CloudTrailClient;
  readonly #cloudControl: CloudControlClient;
  readonly #kms: KMSClient;
  readonly #cloudFormation: CloudFormationClient;
  readonly #lambda: LambdaClient;
  readonly #rds: RDSClient;
  readonly #rdsData: RDSDataClient;
  readonly #apiGateway: APIGatewayClient;
  readonly #quotas: ServiceQuotasClient;
  readonly #s3: S3Client;
  readonly #secrets: SecretsManagerClient;

  /**
   * @param options.signal ends a question that AWS does not answer
   * @param endpoints those of a local engine. @default - AWS
   */
  constructor(
    { signal, ...options }: Omit<AwsClientOptions, 'endpoint'> & { readonly signal?: AbortSignal } = {},
    endpoints?: Readonly<Record<Service, string>>,
  ) {
    this.#interruptible = signal === undefined ? {} : { abortSignal: signal };
    const at = (service: Service): AwsClientOptions => ({
      ...options,
      ...forOperators,
      ...(endpoints && { endpoint: endpoints[service] }),
    });
    this.#sts = new STSClient(at('sts'));
    this.#acm = new ACMClient(at('acm'));
    this.#cloudTrail = new CloudTrailClient(at('cloudTrail'));
    this.#cloudControl = new CloudControlClient(at('cloudControl'));
    this.#cloudFormation = new CloudFormationClient(at('cloudFormation'));
    this.#kms = new KMSClient(at('kms'));
    this.#lambda = new LambdaClient(at('lambda'));
    this.#rds = new RDSClient(at('rds'));
    this.#rdsData = rdsDataClient(at('rdsData'));
    this.#apiGateway = new APIGatewayClient(at('apiGateway'));
    this.#quotas = new ServiceQuotasClient(at('serviceQuotas'));
    this.#s3 = new S3Client({ ...at('s3'), forcePathStyle: endpoints !== undefined });
    this.#secrets = new SecretsManagerClient(at('secretsManager'));
  }

  /** @throws MissingRegionError */
  async region(): Promise<string> {
    return await this.#sts.config.region().catch((cause: unknown) => {
      throw new MissingRegionError('no usable AWS region', { cause });
    });
  }

  /** Account and ARN of the credentials. */
  async identity(): Promise<{ readonly account: string; readonly arn: string }> {
    const { Account: account = '', Arn: arn = '' } = await this.#sts.send(
      new GetCallerIdentityCommand({}),
      this.#interruptible,
    );
    return { account, arn };
  }

  /** State and outputs of a stack; `undefined` when there is none. */
  async stack(
    name: string,
  ): Promise<{ readonly status: string; readonly outputs: Readonly<Record<string, string>> } | undefined> {
    try {
      const { Stacks: stacks } = await this.#cloudFormation.send(
        new DescribeStacksCommand({ StackName: name }),
        this.#interruptible,
      );
      const [found] = stacks ?? [];
      if (!found) return undefined;
      const outputs = (found.Outputs ?? []).map(({ OutputKey = '', OutputValue = '' }) => [OutputKey, OutputValue]);
      return { status: found.StackStatus ?? '', outputs: Object.fromEntries(outputs) };
    } catch (error) {
      // CloudFormation has no error of its own for an unknown name.
      if (errorName(error) === 'ValidationError') return undefined;
      throw error;
    }
  }

  /** Concurrent invocations that the account may have, and those of them that no function has reserved. */
  async lambdaConcurrency(): Promise<{ readonly all: number; readonly unreserved: number }> {
    const { AccountLimit: limit } = await this.#lambda.send(new GetAccountSettingsCommand({}), this.#interruptible);
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
      const { OrderableDBInstanceOptions: options = [] } = await this.#rds.send(
        new DescribeOrderableDBInstanceOptionsCommand(command),
        this.#interruptible,
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
    return (await this.#apiGateway.send(new GetAccountCommand({}), this.#interruptible)).cloudwatchRoleArn || undefined;
  }

  /** How many REST APIs the region has. */
  async restApis(): Promise<number> {
    let count = 0;
    for await (const { items = [] } of paginateGetRestApis(
      { client: this.#apiGateway },
      { limit: 500 },
      this.#interruptible,
    )) {
      count += items.filter(({ endpointConfiguration }) => endpointConfiguration?.types?.includes('REGIONAL')).length;
    }
    return count;
  }

  /** Whether API Gateway of this account and region serves a host name. */
  async hasDomain(name: string): Promise<boolean> {
    return (
      (await this.#unless(
        'NotFoundException',
        this.#apiGateway.send(new GetDomainNameCommand({ domainName: name }), this.#interruptible),
      )) !== undefined
    );
  }

  /** State and host names of a certificate; `undefined` when there is none. */
  async certificate(arn: string): Promise<{ readonly status: string; readonly names: readonly string[] } | undefined> {
    const request = this.#acm.send(new DescribeCertificateCommand({ CertificateArn: arn }), this.#interruptible);
    const found = (await this.#unless('ResourceNotFoundException', request))?.Certificate;
    return found && { status: found.Status ?? '', names: found.SubjectAlternativeNames ?? [] };
  }

  /** Whether the account has a role that belongs to a service, such as `AWSServiceRoleForRDS`. */
  async hasServiceRole(name: string): Promise<boolean> {
    const command = new GetResourceCommand({ TypeName: 'AWS::IAM::ServiceLinkedRole', Identifier: name });
    return (
      (await this.#unless('ResourceNotFoundException', this.#cloudControl.send(command, this.#interruptible))) !==
      undefined
    );
  }

  /** How many trails the region has, with those of other regions that record it: they count, too. */
  async trails(): Promise<number> {
    const command = new DescribeTrailsCommand({ includeShadowTrails: true });
    return (await this.#cloudTrail.send(command, this.#interruptible)).trailList?.length ?? 0;
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
    for await (const { ResourceDescriptions: found = [] } of paginateListResources(
      { client: this.#cloudControl },
      { TypeName: type },
      this.#interruptible,
    )) {
      count += found.length;
    }
    return count;
  }

  /** How many KMS keys of its own the region has. Those that AWS manages for other services do not count against the quota. */
  async customerKeys(): Promise<number> {
    const keys = new Set<string | undefined>();
    for await (const { Keys: page = [] } of paginateListKeys(
      { client: this.#kms },
      { Limit: 1000 },
      this.#interruptible,
    )) {
      for (const { KeyId: id } of page) keys.add(id);
    }
    for await (const { Aliases: page = [] } of paginateListAliases(
      { client: this.#kms },
      { Limit: 100 },
      this.#interruptible,
    )) {
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
    for await (const { SecretList: page = [] } of paginateListSecrets(
      { client: this.#secrets },
      input,
      this.#interruptible,
    )) {
      count += page.length;
    }
    return count;
  }

  /** The applied value of a quota; `undefined` when Service Quotas does not know it. @param code such as `L-F678F1CE` */
  async quota(service: string, code: string): Promise<number | undefined> {
    try {
      const { Quota: quota } = await this.#quotas.send(
        new GetServiceQuotaCommand({ ServiceCode: service, QuotaCode: code }),
        this.#interruptible,
      );
      return quota?.Value;
    } catch (error) {
      if (errorName(error) === 'NoSuchResourceException') return undefined;
      throw error;
    }
  }

  /** Region of a bucket; `undefined` when there is none. `elsewhere`: in another region, which S3 does not always name. */
  async bucket(name: string): Promise<string | undefined> {
    try {
      return (await this.#s3.send(new HeadBucketCommand({ Bucket: name }), this.#interruptible)).BucketRegion;
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
    return new DataApi({ client: this.#rdsData, ...parameters, database: parameters.databaseName });
  }

  /** Read a byte of some object, as the functions do. @returns whether the bucket has an object */
  async testRead(bucket: string): Promise<boolean> {
    const list = new ListObjectsV2Command({ Bucket: bucket, MaxKeys: 1 });
    // An empty object has no range.
    const found = (await this.#s3.send(list, this.#interruptible)).Contents?.[0];
    if (found === undefined) return false;
    const range = found.Size ? { Range: 'bytes=0-0' } : {};
    const { Body: body } = await this.#s3.send(
      new GetObjectCommand({ Bucket: bucket, Key: found.Key, ...range }),
      this.#interruptible,
    );
    await body?.transformToByteArray();
    return true;
  }

  /** @returns `undefined` for an error of this name */
  async #unless<T>(name: string, answer: Promise<T>): Promise<T | undefined> {
    try {
      return await answer;
    } catch (error) {
      if (errorName(error) === name) return undefined;
      throw error;
    }
  }

  /** @returns `undefined` when there is no such cluster */
  async cluster(arn: string): Promise<ClusterFacts | undefined> {
    try {
      const { DBClusters: clusters } = await this.#rds.send(
        new DescribeDBClustersCommand({ DBClusterIdentifier: arn }),
        this.#interruptible,
      );
      const [found] = clusters ?? [];
      if (!found) return undefined;
      const { Engine: engine = '', EngineVersion: version = '', HttpEndpointEnabled: dataApi = false } = found;
      return { engine, version, dataApi };
    } catch (error) {
      if (errorName(error) === 'DBClusterNotFoundFault') return undefined;
      throw error;
    }
  }

  /** Whether there is such a secret that is not about to be deleted. */
  async hasSecret(arn: string): Promise<boolean> {
    try {
      return (
        (await this.#secrets.send(new DescribeSecretCommand({ SecretId: arn }), this.#interruptible)).DeletedDate ===
        undefined
      );
    } catch (error) {
      if (errorName(error) === 'ResourceNotFoundException') return false;
      throw error;
    }
  }
}

/** Whether AWS says that these credentials may not ask. */
export function isNotAllowed(error: unknown): boolean {
  return /^(AccessDenied|UnauthorizedOperation|NotAuthorized)/.test(errorName(error)) || errorStatus(error) === 403;
}
