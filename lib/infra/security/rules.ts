import { type App, Validations } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import type { Settings } from '../settings.ts';

const hipaa = (rule: string) => `HIPAA.Security-${rule}`;

/**
 * Rules that several packs have, each under its own id: the ids by what the rule asks for. What only AwsSolutions asks for
 * is named by its id where it is accepted.
 */
const rules = {
  apiCache: [hipaa('APIGWCacheEnabledAndEncrypted')],
  apiClientCertificate: [hipaa('APIGWSSLEnabled')],
  apiExecutionLog: ['AwsSolutions-APIG6', hipaa('APIGWExecutionLoggingEnabled')],
  apiFirewall: ['AwsSolutions-APIG3'],
  bucketCopies: [hipaa('S3BucketVersioningEnabled'), hipaa('S3BucketReplicationEnabled')],
  bucketKey: [hipaa('S3DefaultEncryptionKMS')],
  bucketReplication: [hipaa('S3BucketReplicationEnabled')],
  databaseBackupPlan: [hipaa('RDSInBackupPlan')],
  databaseDeletionProtection: ['AwsSolutions-RDS10', hipaa('RDSInstanceDeletionProtectionEnabled')],
  databaseEnhancedMonitoring: [hipaa('RDSEnhancedMonitoringEnabled')],
  databaseLogExport: [hipaa('RDSLoggingEnabled[LogExport::postgresql]')],
  deadLettersOfEvents: ['Serverless-EventBusDLQ'],
  deadLettersOfFunctions: ['Serverless-LambdaDLQ', hipaa('LambdaDLQ')],
  deadLettersOfQueues: ['AwsSolutions-SQS3', 'Serverless-SQSRedrivePolicy'],
  deadLettersOfTopics: ['Serverless-SNSRedrivePolicy'],
  failureDestination: ['Serverless-LambdaEventSourceMappingDestination'],
  functionConcurrency: [hipaa('LambdaConcurrency')],
  functionNetwork: [hipaa('LambdaInsideVPC')],
  inlinePolicy: [hipaa('IAMNoInlinePolicy')],
  logKey: [hipaa('CloudWatchLogGroupEncrypted')],
  methodWithoutCredentials: ['AwsSolutions-APIG4', 'AwsSolutions-COG4'],
  networkDefaultGroup: [hipaa('VPCDefaultSecurityGroupClosed')],
  networkFlowLog: ['AwsSolutions-VPC7', hipaa('VPCFlowLogsEnabled')],
  secretRotation: ['AwsSolutions-SMG4', hipaa('SecretsManagerRotationEnabled')],
  topicKey: [hipaa('SNSEncryptedKMS')],
} as const;

/** Accept the findings whose reason holds for the whole application. The others are beside the code that causes them. */
export function acceptForTheWhole(app: App, { logKeys = 'aws' }: Settings): void {
  acknowledge(app, {
    functionNetwork:
      'The database takes no connection from a network: functions use the RDS Data API. A network for the functions would need a way out and close nothing.',
    functionConcurrency:
      "The throttling of the APIs and the settings `concurrency` limit how many functions run. A reservation for each function would take it from the account's limit.",
    // test/resilience/security-rules.resilience.ts holds who invokes functions. Secrets Manager does so synchronously (Lambda developer guide).
    deadLettersOfFunctions:
      'Only schedules invoke these functions asynchronously. Their events are always the same, and the next one starts the same work. Work that carries data comes from queues, which have dead-letter queues.',
    inlinePolicy:
      'Each inline policy lists what one role needs, and ends with it. A managed policy could be attached to other roles.',
    ...(logKeys === 'aws' && {
      logKey:
        "With `logKeys: 'aws'`, CloudWatch Logs encrypts the logs under its own key. `logKeys: 'customer'` makes your own key. No log holds a visa, a password or a key.",
    }),
  });
}

/**
 * Accept findings of the security rules (cdk-nag, CloudFormation validation) for one construct and its children. Every
 * exception is beside the code that causes it.
 *
 * @param reasons why each is right, by the name of the rule in the table above, or by an id of AwsSolutions
 */
export function acknowledge(
  construct: Construct,
  reasons: { readonly [name in keyof typeof rules]?: string } & { readonly [id: `AwsSolutions-${string}`]: string },
): void {
  for (const [name, reason] of Object.entries(reasons)) {
    const ids = name in rules ? rules[name as keyof typeof rules] : [name];
    for (const id of ids) Validations.of(construct).acknowledge({ id, reason });
  }
}
