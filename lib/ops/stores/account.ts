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
 * Questions to one account and region before a deployment. None of them changes anything. Each throws the error of AWS for a
 * question that may not be asked: see {@link isNotAllowed}.
 *
 * @param options.signal ends a question that AWS does not answer
 * @param endpoints those of a local engine. @default - AWS
 */
export function awsAccount(
  { signal, ...options }: Omit<AwsClientOptions, 'endpoint'> & { readonly signal?: AbortSignal } = {},
  endpoints?: Connection['endpoints'],
) {
  const stop = signal === undefined ? {} : { abortSignal: signal };
  const clients = clientsOf(options, endpoints);
  const { sts, acm, cloudTrail, cloudControl, cloudFormation, kms, lambda, rds, rdsData, apiGateway } = clients;
  const { quotas, s3, secrets } = clients;
  const resources = async (TypeName: string) =>
    await count(
      paginateListResources({ client: cloudControl }, { TypeName }, stop),
      (page) => page.ResourceDescriptions,
    );
  return {
    /** @throws MissingRegionError */
    region: () => regionOf(sts),

    /** Account and ARN of the credentials. */
    async identity() {
      const { Account: account = '', Arn: arn = '' } = await sts.send(new GetCallerIdentityCommand({}), stop);
      return { account, arn };
    },

    /** State and outputs of a stack; `undefined` when there is none. */
    stack: (name: string) => describeStack(cloudFormation, name, stop),

    /** Concurrent invocations that the account may have, and those of them that no function has reserved. */
    async lambdaConcurrency() {
      const { AccountLimit: limit } = await lambda.send(new GetAccountSettingsCommand({}), stop);
      return { all: limit?.ConcurrentExecutions ?? 0, unreserved: limit?.UnreservedConcurrentExecutions ?? 0 };
    },

    /**
     * Whether the region has an engine version for Aurora Serverless v2, and the Data API for it.
     *
     * @param version the major one alone stands for all of its minor ones
     */
    async auroraServerless(version: string) {
      const input = { Engine: 'aurora-postgresql', EngineVersion: version, DBInstanceClass: 'db.serverless' };
      const found = await rds.send(new DescribeOrderableDBInstanceOptionsCommand(input), stop).catch((error: Error) => {
        // RDS has no separate error for an unknown version.
        const isInvalid = errorName(error) === 'InvalidParameterCombination';
        if (isInvalid && error.message.startsWith('Cannot find version')) return undefined;
        throw error;
      });
      const offers = found?.OrderableDBInstanceOptions ?? [];
      return { offered: offers.length > 0, dataApi: offers.some(({ SupportsHttpEndpoint }) => SupportsHttpEndpoint) };
    },

    /** ARN of the role through which API Gateway writes logs; `undefined` when there is none. */
    async apiGatewayLogRole() {
      return (await apiGateway.send(new GetAccountCommand({}), stop)).cloudwatchRoleArn || undefined;
    },

    /** How many REST APIs the region has. */
    restApis: () =>
      count(paginateGetRestApis({ client: apiGateway }, { limit: 500 }, stop), ({ items }) =>
        items?.filter(({ endpointConfiguration }) => endpointConfiguration?.types?.includes('REGIONAL')),
      ),

    /** Whether API Gateway of this account and region serves a host name. */
    async hasDomain(domainName: string) {
      const request = apiGateway.send(new GetDomainNameCommand({ domainName }), stop);
      return (await unless('NotFoundException', request)) !== undefined;
    },

    /** State and host names of a certificate; `undefined` when there is none. */
    async certificate(arn: string) {
      const request = acm.send(new DescribeCertificateCommand({ CertificateArn: arn }), stop);
      const found = (await unless('ResourceNotFoundException', request))?.Certificate;
      return found && { status: found.Status ?? '', names: found.SubjectAlternativeNames ?? [] };
    },

    /** Whether the account has a role that belongs to a service, such as `AWSServiceRoleForRDS`. */
    async hasServiceRole(name: string) {
      const command = new GetResourceCommand({ TypeName: 'AWS::IAM::ServiceLinkedRole', Identifier: name });
      return (await unless('ResourceNotFoundException', cloudControl.send(command, stop))) !== undefined;
    },

    /** How many trails the region has, with those of other regions that record it, because they also count. */
    async trails() {
      const command = new DescribeTrailsCommand({ includeShadowTrails: true });
      return (await cloudTrail.send(command, stop)).trailList?.length ?? 0;
    },

    /** How many VPCs the region has. */
    networks: () => resources('AWS::EC2::VPC'),

    /** How many resource policies CloudWatch Logs has in the region. */
    logPolicies: () => resources('AWS::Logs::ResourcePolicy'),

    /** How many customer KMS keys the region has. Those that AWS manages for other services do not count against the quota. */
    async customerKeys() {
      const keys = new Set<string | undefined>();
      for await (const { Keys: page = [] } of paginateListKeys({ client: kms }, { Limit: 1000 }, stop)) {
        for (const { KeyId: id } of page) keys.add(id);
      }
      for await (const { Aliases: page = [] } of paginateListAliases({ client: kms }, { Limit: 100 }, stop)) {
        // The prefix is reserved for AWS (API reference, CreateAlias).
        const ofAws = page.filter(({ AliasName: name }) => name?.startsWith('alias/aws/'));
        for (const { TargetKeyId: id } of ofAws) keys.delete(id);
      }
      return keys.size;
    },

    /** How many secrets the region has, with those that wait for their deletion. */
    secrets: () =>
      count(
        paginateListSecrets({ client: secrets }, { IncludePlannedDeletion: true, MaxResults: 100 }, stop),
        (page) => page.SecretList,
      ),

    /** The applied value of a quota; `undefined` when Service Quotas does not know it. @param code such as `L-F678F1CE` */
    async quota(service: string, code: string) {
      const command = new GetServiceQuotaCommand({ ServiceCode: service, QuotaCode: code });
      return (await unless('NoSuchResourceException', quotas.send(command, stop)))?.Quota?.Value;
    },

    /** Region of a bucket; `undefined` when there is none. `elsewhere`: in another region, which S3 does not always name. */
    async bucket(name: string) {
      try {
        return (await s3.send(new HeadBucketCommand({ Bucket: name }), stop)).BucketRegion;
      } catch (error) {
        if (errorStatus(error) === 404) return undefined;
        if (errorStatus(error) === 301) return 'elsewhere';
        throw error;
      }
    },

    /** The database of a cluster, as the user of a secret. */
    database: (parameters: Record<'clusterArn' | 'secretArn' | 'databaseName', string>) =>
      new DataApi({ client: rdsData, ...parameters, database: parameters.databaseName }),

    /** Read a byte of some object, as the functions do. @returns whether the bucket has an object */
    async testRead(bucket: string) {
      // An empty object has no range.
      const found = (await s3.send(new ListObjectsV2Command({ Bucket: bucket, MaxKeys: 1 }), stop)).Contents?.[0];
      if (found === undefined) return false;
      const range = found.Size ? { Range: 'bytes=0-0' } : {};
      const { Body } = await s3.send(new GetObjectCommand({ Bucket: bucket, Key: found.Key, ...range }), stop);
      await Body?.transformToByteArray();
      return true;
    },

    /** @returns `dataApi`: whether the RDS Data API is switched on. `undefined` when there is no such cluster */
    async cluster(arn: string) {
      const request = rds.send(new DescribeDBClustersCommand({ DBClusterIdentifier: arn }), stop);
      const [found] = (await unless('DBClusterNotFoundFault', request))?.DBClusters ?? [];
      if (!found) return undefined;
      const { Engine: engine = '', EngineVersion: version = '', HttpEndpointEnabled: dataApi = false } = found;
      return { engine, version, dataApi };
    },

    /** Whether there is such a secret that is not about to be deleted. */
    async hasSecret(arn: string) {
      const request = secrets.send(new DescribeSecretCommand({ SecretId: arn }), stop);
      const found = await unless('ResourceNotFoundException', request);
      return found !== undefined && found.DeletedDate === undefined;
    },
  };
}

export type AwsAccount = ReturnType<typeof awsAccount>;

async function count<Page>(pages: AsyncIterable<Page>, itemsOf: (page: Page) => readonly unknown[] | undefined) {
  let sum = 0;
  for await (const page of pages) sum += itemsOf(page)?.length ?? 0;
  return sum;
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
