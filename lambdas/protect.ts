import { CloudFormationClient } from '@aws-sdk/client-cloudformation';
import { RDSClient } from '@aws-sdk/client-rds';
import type { Context } from 'aws-lambda';
import { environment } from '../lib/contract/environment.ts';
import { protectStorage } from '../lib/service/stores/deployment.ts';
import { retriedUntilConsistent } from './shared/deployment.ts';
import { logger } from './shared/observability.ts';
import { required } from './shared/runtime.ts';

const requestHandler = { connectionTimeout: 3000, requestTimeout: 10_000, throwOnRequestTimeout: true };
const storage = {
  cloudFormation: new CloudFormationClient({ requestHandler }),
  rds: new RDSClient({ requestHandler }),
  stackId: required(environment.storageStackId),
  clusterArn: process.env[environment.databaseClusterArn],
};

/**
 * Run by a deploy-time trigger once the storage stack exists, and every hour from then on. Waits some minutes for new
 * permissions; a failure is thrown, and rolls the deployment back when it is part of one.
 */
export async function handler(_event: unknown, context: Context): Promise<void> {
  await retriedUntilConsistent(() => protectStorage(storage), context);
  logger.info('storage is protected', { stackId: storage.stackId, clusterArn: storage.clusterArn });
}
