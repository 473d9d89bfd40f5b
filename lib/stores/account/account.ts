import { APIGatewayClient, GetAccountCommand, paginateGetRestApis } from '@aws-sdk/client-api-gateway';
import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { GetAccountSettingsCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { DescribeDBClustersCommand, DescribeOrderableDBInstanceOptionsCommand, RDSClient } from '@aws-sdk/client-rds';
import { HeadBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { DescribeSecretCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { GetServiceQuotaCommand, ServiceQuotasClient } from '@aws-sdk/client-service-quotas';
import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts';
import type { AwsClientOptions } from '../aws-client-options.ts';
import { errorName, errorStatus } from '../aws-failure.ts';
import { MissingRegionError } from '../stack-outputs.ts';

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
  readonly #sts: STSClient;
  readonly #cloudFormation: CloudFormationClient;
  readonly #lambda: LambdaClient;
  readonly #rds: RDSClient;
  readonly #apiGateway: APIGatewayClient;
  readonly #quotas: ServiceQuotasClient;
  readonly #s3: S3Client;
  readonly #secrets: SecretsManagerClient;

  constructor(options: AwsClientOptions = {}) {
    this.#sts = new STSClient(options);
    this.#cloudFormation = new CloudFormationClient(options);
    this.#lambda = new LambdaClient(options);
    this.#rds = new RDSClient(options);
    this.#apiGateway = new APIGatewayClient(options);
    this.#quotas = new ServiceQuotasClient(options);
    this.#s3 = new S3Client({ ...options, ...(options.endpoint !== undefined && { forcePathStyle: true }) });
    this.#secrets = new SecretsManagerClient(options);
  }

  /** @throws MissingRegionError */
  async region(): Promise<string> {
    return await this.#sts.config.region().catch((cause: unknown) => {
      throw new MissingRegionError('no usable AWS region', { cause });
    });
  }

  /** Account and ARN of the credentials. */
  async identity(): Promise<{ readonly account: string; readonly arn: string }> {
    const { Account: account = '', Arn: arn = '' } = await this.#sts.send(new GetCallerIdentityCommand({}));
    return { account, arn };
  }

  /** State and outputs of a stack; `undefined` when there is none. */
  async stack(
    name: string,
  ): Promise<{ readonly status: string; readonly outputs: Readonly<Record<string, string>> } | undefined> {
    try {
      const { Stacks: stacks } = await this.#cloudFormation.send(new DescribeStacksCommand({ StackName: name }));
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
    const { AccountLimit: limit } = await this.#lambda.send(new GetAccountSettingsCommand({}));
    return { all: limit?.ConcurrentExecutions ?? 0, unreserved: limit?.UnreservedConcurrentExecutions ?? 0 };
  }

  /** Whether the region has an engine version for Aurora Serverless v2, and the Data API for it. */
  async auroraServerless(version: string): Promise<{ readonly offered: boolean; readonly dataApi: boolean }> {
    const command = { Engine: 'aurora-postgresql', EngineVersion: version, DBInstanceClass: 'db.serverless' };
    const { OrderableDBInstanceOptions: options = [] } = await this.#rds.send(
      new DescribeOrderableDBInstanceOptionsCommand(command),
    );
    return { offered: options.length > 0, dataApi: options.some(({ SupportsHttpEndpoint }) => SupportsHttpEndpoint) };
  }

  /** ARN of the role through which API Gateway writes logs; `undefined` when there is none. */
  async apiGatewayLogRole(): Promise<string | undefined> {
    return (await this.#apiGateway.send(new GetAccountCommand({}))).cloudwatchRoleArn || undefined;
  }

  /** How many REST APIs the region has. */
  async restApis(): Promise<number> {
    let count = 0;
    for await (const { items = [] } of paginateGetRestApis({ client: this.#apiGateway }, { limit: 500 })) {
      count += items.filter(({ endpointConfiguration }) => endpointConfiguration?.types?.includes('REGIONAL')).length;
    }
    return count;
  }

  /** The applied value of a quota. @param code such as `L-F678F1CE` */
  async quota(service: string, code: string): Promise<number | undefined> {
    const { Quota: quota } = await this.#quotas.send(
      new GetServiceQuotaCommand({ ServiceCode: service, QuotaCode: code }),
    );
    return quota?.Value;
  }

  /** Region of a bucket; `undefined` when there is none. `elsewhere`: in another region, which S3 does not always name. */
  async bucket(name: string): Promise<string | undefined> {
    try {
      return (await this.#s3.send(new HeadBucketCommand({ Bucket: name }))).BucketRegion;
    } catch (error) {
      if (errorStatus(error) === 404) return undefined;
      if (errorStatus(error) === 301) return 'elsewhere';
      throw error;
    }
  }

  /** @returns `undefined` when there is no such cluster */
  async cluster(arn: string): Promise<ClusterFacts | undefined> {
    try {
      const { DBClusters: clusters } = await this.#rds.send(
        new DescribeDBClustersCommand({ DBClusterIdentifier: arn }),
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
      return (await this.#secrets.send(new DescribeSecretCommand({ SecretId: arn }))).DeletedDate === undefined;
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
