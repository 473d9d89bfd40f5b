/** Names of the two stacks of one deployment. @param stage none, or an empty one: the only deployment there is */
export function stackNames(stage?: string): { readonly storage: string; readonly service: string } {
  const suffix = stage ? `-${stage}` : '';
  return { storage: `DataOutStorage${suffix}`, service: `DataOutService${suffix}` };
}

/**
 * CloudFormation outputs of the two stacks (their export-free `Outputs` keys). The operator's tool finds a deployed
 * stack by them, the local engine finds what it must fill by them.
 */
export const outputs = {
  /** Base URL of the proxy API, with stage, without a final slash being guaranteed. */
  proxyUrl: 'ProxyUrl',
  /** Base URL of the data-out API. */
  dataOutUrl: 'DataOutUrl',
  archiveBucket: 'ArchiveBucketName',
  outboxBucket: 'OutboxBucketName',
  adminSecretArn: 'AdminSecretArn',
  archiveKeysSecretArn: 'ArchiveKeysSecretArn',
  visaDenyListSecretArn: 'VisaDenyListSecretArn',
  databaseClusterArn: 'DatabaseClusterArn',
  databaseSecretArn: 'DatabaseSecretArn',
  databaseName: 'DatabaseName',
  exportRequestsQueueUrl: 'ExportRequestsQueueUrl',
  exportRequestsDeadLetterQueueUrl: 'ExportRequestsDeadLetterQueueUrl',
  fileExportsQueueUrl: 'FileExportsQueueUrl',
  fileExportsDeadLetterQueueUrl: 'FileExportsDeadLetterQueueUrl',
} as const;

type StackOutput = (typeof outputs)[keyof typeof outputs];
export type StackOutputs = Readonly<Record<StackOutput, string>>;
