import { type CloudFormationClient, UpdateTerminationProtectionCommand } from '@aws-sdk/client-cloudformation';
import { ModifyDBClusterCommand, type RDSClient } from '@aws-sdk/client-rds';

import { isError } from '../../errors.ts';
import { errorName } from './aws-failure.ts';
import { type RetryEnvironment, retrying } from './retry.ts';

/**
 * Names of refusals that pass soon: a new role or its policy is not known everywhere yet (IAM is eventually
 * consistent), or a cluster is still being made.
 */
const refusals = new Set([
  'AccessDenied',
  'AccessDeniedException',
  'DatabaseNotFoundException',
  'ForbiddenException',
  'HttpEndpointNotEnabledException',
  'InvalidClientTokenId',
  'InvalidDBClusterStateFault',
  'InvalidResourceStateException',
  'SecretsErrorException',
  'UnrecognizedClientException',
]);

/** IAM and RDS become consistent within a minute or two. A permission that is missing should fail the deployment soon after. */
const longestMs = 5 * 60_000;

interface ConsistencyOptions extends RetryEnvironment {
  /** Milliseconds that all attempts and pauses together may take, of which at most five minutes are used. */
  readonly remainingMs: number;
  /** Gets each refusal after which there may be another attempt. */
  readonly onRefusal: (error: unknown) => void;
}

/**
 * Run `attempt` as part of a deployment, and again while AWS refuses it because a role or a cluster is new. `attempt`
 * must be repeatable.
 *
 * @throws the last refusal when the time is over; any other failure at once
 */
export async function whenConsistent<T>(attempt: () => Promise<T>, options: ConsistencyOptions): Promise<T> {
  const { remainingMs, onRefusal, ...environment } = options;
  try {
    return await retrying(attempt, {
      ...environment,
      budgetMs: Math.min(remainingMs, longestMs),
      isRetryable: (error) => {
        const passes = refusals.has(errorName(error));
        if (passes) onRefusal(error);
        return passes;
      },
      firstPauseMs: 1000,
      maxPauseMs: 15_000,
      what: 'AWS',
    });
  } catch (error) {
    // The refusal says which permission on what is missing.
    if (isError(error, 'temporarily_unavailable') && refusals.has(errorName(error.cause))) throw error.cause;
    throw error;
  }
}

interface StorageProtection {
  readonly cloudFormation: Pick<CloudFormationClient, 'send'>;
  readonly rds: Pick<RDSClient, 'send'>;
  /** Unique id of the storage stack: an ARN. */
  readonly stackId: string;
  /** ARN of the cluster that the stack made. `undefined`: it made none, and an operator's own cluster is not changed. */
  readonly clusterArn: string | undefined;
}

/**
 * Protect the storage stack and its cluster against deletion. May be repeated.
 *
 * @throws the error of the AWS SDK
 */
export async function protectStorage({ cloudFormation, rds, stackId, clusterArn }: StorageProtection): Promise<void> {
  await cloudFormation.send(
    new UpdateTerminationProtectionCommand({ StackName: stackId, EnableTerminationProtection: true }),
  );
  if (clusterArn === undefined) return;
  // RDS documents the identifier only: the last part of `arn:aws:rds:region:account:cluster:identifier`.
  const identifier = clusterArn.split(':')[6];
  await rds.send(new ModifyDBClusterCommand({ DBClusterIdentifier: identifier, DeletionProtection: true }));
}
