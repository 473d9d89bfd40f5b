/** Names of the two stacks of one deployment. @param stage the suffix of the names; absent or empty: none */
export function stackNames(stage?: string): { readonly storage: string; readonly service: string } {
  const suffix = stage ? `-${stage}` : '';
  return { storage: `DataOutStorage${suffix}`, service: `DataOutService${suffix}` };
}

/**
 * CloudFormation outputs of the two stacks: keys of `Outputs`, none of them exported. The operator's tool and the local
 * engine find the stacks' resources by them.
 */
export const outputs = {
  /** Base URL of the delivery API, with its stage. It may end in a slash or not. */
  proxyUrl: 'ProxyUrl',
  /** Base URL of the direct API. Absent where the direct API is off. */
  dataOutUrl: 'DataOutUrl',
  archiveBucket: 'ArchiveBucketName',
  outboxBucket: 'OutboxBucketName',
  adminSecretArn: 'AdminSecretArn',
  archiveKeysSecretArn: 'ArchiveKeysSecretArn',
  visaDenyListSecretArn: 'VisaDenyListSecretArn',
  databaseClusterArn: 'DatabaseClusterArn',
  databaseSecretArn: 'DatabaseSecretArn',
  /**
   * Of a role that reads the audit trail and the state of exports. The owner's, where an existing cluster has no such role. Absent
   * until a deployment of a release without it is updated.
   */
  databaseAuditorSecretArn: 'DatabaseAuditorSecretArn',
  databaseName: 'DatabaseName',
  /** Regular expressions that stable ids match. */
  datasetIdPattern: 'DatasetIdPattern',
  fileIdPattern: 'FileIdPattern',
  exportRequestsQueueUrl: 'ExportRequestsQueueUrl',
  exportRequestsDeadLetterQueueUrl: 'ExportRequestsDeadLetterQueueUrl',
  fileExportsQueueUrl: 'FileExportsQueueUrl',
  fileExportsDeadLetterQueueUrl: 'FileExportsDeadLetterQueueUrl',
  smallFileExportsQueueUrl: 'SmallFileExportsQueueUrl',
  smallFileExportsDeadLetterQueueUrl: 'SmallFileExportsDeadLetterQueueUrl',
  deliveriesQueueUrl: 'DeliveriesQueueUrl',
  deliveriesDeadLetterQueueUrl: 'DeliveriesDeadLetterQueueUrl',
  /** Days after which a staged container expires. */
  outboxExpiryDays: 'OutboxExpiryDays',
  /** Most GiB of containers in the outbox of one recipient. Absent: no limit. */
  outboxQuotaGib: 'OutboxQuotaGib',
  /** The role by which operators send messages of exports. */
  redriveRoleArn: 'RedriveRoleArn',
  /** For people. */
  alarmTopicArn: 'AlarmTopicArn',
} as const;

type StackOutput = (typeof outputs)[keyof typeof outputs];
export const optionalOutputs = [
  ...[outputs.dataOutUrl, outputs.databaseAuditorSecretArn, outputs.outboxQuotaGib, outputs.alarmTopicArn],
] as const;
export type OptionalOutput = (typeof optionalOutputs)[number];
export type RequiredOutput = Exclude<StackOutput, OptionalOutput>;
export type StackOutputs = Readonly<Record<RequiredOutput, string>> & {
  readonly [name in OptionalOutput]?: string | undefined;
};

/** Outputs that every deployment has. */
export const requiredOutputs = Object.values(outputs).filter(
  (name) => !optionalOutputs.some((optional) => optional === name),
);
