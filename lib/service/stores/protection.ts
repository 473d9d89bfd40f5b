import { type CloudFormationClient, UpdateTerminationProtectionCommand } from '@aws-sdk/client-cloudformation';
import { ModifyDBClusterCommand, type RDSClient } from '@aws-sdk/client-rds';

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
