import { APIGatewayClient, GetAccountCommand } from '@aws-sdk/client-api-gateway';
import { CloudFormationClient } from '@aws-sdk/client-cloudformation';
import { GetAccountSettingsCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { DescribeDBClustersCommand, DescribeOrderableDBInstanceOptionsCommand, RDSClient } from '@aws-sdk/client-rds';
import { GetObjectCommand, HeadBucketCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import { DescribeSecretCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts';
import * as z from 'zod';
import { errorName, errorStatus } from '../../service/stores/aws-failure.ts';
import { type AwsClientOptions, forOperators, rdsDataClient } from '../../service/stores/clients.ts';
import { DataApi } from '../../service/stores/rds/data-api.ts';
import { outputsOf, regionOf } from './stacks.ts';

/** Whether passwords are restricted, and whether the owner may set them anyway. */
const passwordsRow = z.object({ restricted: z.string(), manager: z.boolean() });
const passwords = `select current_setting('rds.restrict_password_commands') as restricted,
  pg_has_role(current_user, 'rds_password', 'member') as manager`;

/**
 * Questions to one account and region before a deployment. None of them changes anything. Each throws the error of AWS for a
 * question that may not be asked: see {@link isNotAllowed}.
 * @param options.signal ends a question that AWS does not answer
 */
export function awsAccount({ signal, ...options }: AwsClientOptions & { readonly signal?: AbortSignal } = {}) {
  const stop = signal === undefined ? {} : { abortSignal: signal };
  const at = { ...options, ...forOperators };
  const sts = new STSClient(at);
  const rds = new RDSClient(at);
  const s3 = new S3Client({ ...at, forcePathStyle: options.endpoint !== undefined });
  return {
    /** Account and ARN of the credentials, and the region. @throws UsageError without one */
    async identity() {
      const region = await regionOf(sts);
      const { Account: id = '', Arn: arn = '' } = await sts.send(new GetCallerIdentityCommand({}), stop);
      return { id, arn, region };
    },

    /** Outputs of a stack; `undefined` when there is none. */
    stack: (name: string) => outputsOf(new CloudFormationClient(at), name, stop),

    /** Concurrent invocations that the account may have, and those of them that no function has reserved. */
    async lambdaConcurrency() {
      const { AccountLimit: limit } = await new LambdaClient(at).send(new GetAccountSettingsCommand({}), stop);
      return { all: limit?.ConcurrentExecutions ?? 0, unreserved: limit?.UnreservedConcurrentExecutions ?? 0 };
    },

    /** Whether the region has a major version of Aurora for Serverless v2, and the Data API for it. */
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
      return (await new APIGatewayClient(at).send(new GetAccountCommand({}), stop)).cloudwatchRoleArn || undefined;
    },

    /** Region of a bucket; `undefined` when there is none. `elsewhere`: in another region, which S3 does not always name. */
    async bucketRegion(name: string) {
      try {
        return (await s3.send(new HeadBucketCommand({ Bucket: name }), stop)).BucketRegion;
      } catch (error) {
        if (errorStatus(error) === 404) return undefined;
        if (errorStatus(error) === 301) return 'elsewhere';
        throw error;
      }
    },

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

    /** Whether a cluster lets only members of `rds_password` set passwords, and whether the user of the secret is one. */
    async passwordRights({ databaseName, ...rest }: Record<'clusterArn' | 'secretArn' | 'databaseName', string>) {
      const db = new DataApi({ client: rdsDataClient(at), database: databaseName, ...rest });
      const [found] = await db.query(passwordsRow, passwords);
      return { restricted: found?.restricted === 'on', manager: found?.manager === true };
    },

    /** Whether there is such a secret that is not about to be deleted. */
    async hasSecret(arn: string) {
      const request = new SecretsManagerClient(at).send(new DescribeSecretCommand({ SecretId: arn }), stop);
      const found = await unless('ResourceNotFoundException', request);
      return found !== undefined && found.DeletedDate === undefined;
    },
  };
}

export type AwsAccount = ReturnType<typeof awsAccount>;

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
