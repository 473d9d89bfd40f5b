import { type App, Validations } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import type { Settings } from '../settings.ts';

const hipaa = (rule: string) => `HIPAA.Security-${rule}`;
const nist = (rule: string) => `NIST.800.53.R5-${rule}`;
const pci = (rule: string) => `PCI.DSS.321-${rule}`;
const healthAndFederal = (rule: string) => [hipaa(rule), nist(rule)];
const allThree = (rule: string) => [hipaa(rule), nist(rule), pci(rule)];

/**
 * Rules that several packs have, each under an id of its own: the ids by what the rule asks for. What only AwsSolutions asks for
 * is named by its id where it is accepted.
 */
export const rules = {
  apiCache: allThree('APIGWCacheEnabledAndEncrypted'),
  apiClientCertificate: allThree('APIGWSSLEnabled'),
  apiExecutionLog: ['AwsSolutions-APIG6', ...allThree('APIGWExecutionLoggingEnabled')],
  apiFirewall: ['AwsSolutions-APIG3', nist('APIGWAssociatedWithWAF'), pci('APIGWAssociatedWithWAF')],
  bucketKey: allThree('S3DefaultEncryptionKMS'),
  bucketReplication: allThree('S3BucketReplicationEnabled'),
  bucketVersioning: allThree('S3BucketVersioningEnabled'),
  databaseBackupPlan: healthAndFederal('RDSInBackupPlan'),
  databaseDeletionProtection: ['AwsSolutions-RDS10', ...healthAndFederal('RDSInstanceDeletionProtectionEnabled')],
  databaseEnhancedMonitoring: healthAndFederal('RDSEnhancedMonitoringEnabled'),
  databaseLogExport: allThree('RDSLoggingEnabled[LogExport::postgresql]'),
  deadLettersOfEvents: ['Serverless-EventBusDLQ'],
  deadLettersOfFunctions: ['Serverless-LambdaDLQ', ...healthAndFederal('LambdaDLQ')],
  deadLettersOfQueues: ['AwsSolutions-SQS3', 'Serverless-SQSRedrivePolicy'],
  deadLettersOfTopics: ['Serverless-SNSRedrivePolicy'],
  failureDestination: ['Serverless-LambdaEventSourceMappingDestination'],
  functionConcurrency: healthAndFederal('LambdaConcurrency'),
  functionNetwork: allThree('LambdaInsideVPC'),
  inlinePolicy: allThree('IAMNoInlinePolicy'),
  logKey: allThree('CloudWatchLogGroupEncrypted'),
  networkDefaultGroup: allThree('VPCDefaultSecurityGroupClosed'),
  networkFlowLog: ['AwsSolutions-VPC7', ...allThree('VPCFlowLogsEnabled')],
  trailLogGroup: allThree('CloudTrailCloudWatchLogsEnabled'),
  secretRotation: ['AwsSolutions-SMG4', ...healthAndFederal('SecretsManagerRotationEnabled')],
  topicKey: allThree('SNSEncryptedKMS'),
} as const;

/** Accept the findings whose reason holds for the whole application. The others stand beside the code that causes them. */
export function acceptForTheWhole(app: App, { logKeys = 'aws' }: Settings): void {
  acknowledge(
    app,
    'The database takes no connection from a network: functions use the RDS Data API. A network for the functions would need a way out and close nothing.',
    ...rules.functionNetwork,
  );
  acknowledge(
    app,
    "The throttling of the APIs and the settings `concurrency` limit how many functions run. A reservation for each function would take it from the account's limit.",
    ...rules.functionConcurrency,
  );
  // test/infra/security-rules.test.ts holds who invokes functions. Secrets Manager does so synchronously (Lambda developer guide).
  acknowledge(
    app,
    'Only schedules invoke these functions asynchronously. Their events are always the same, and the next one starts the same work. Work that carries data comes from queues, which have dead-letter queues.',
    ...rules.deadLettersOfFunctions,
  );
  acknowledge(
    app,
    'Each inline policy lists what one role needs, and ends with it. A managed policy could be attached to other roles.',
    ...rules.inlinePolicy,
  );
  if (logKeys === 'aws') {
    acknowledge(
      app,
      "With `logKeys: 'aws'`, CloudWatch Logs encrypts the logs under its own key. `logKeys: 'customer'` makes a key of your own. No log holds a visa, a password or a key.",
      ...rules.logKey,
    );
  }
}

/**
 * Accept findings of the security rules (cdk-nag, CloudFormation validation) for one construct and its children. Every
 * exception stands beside the code that causes it and says why it is right.
 */
export function acknowledge(construct: Construct, reason: string, ...ids: readonly string[]): void {
  for (const id of ids) Validations.of(construct).acknowledge({ id, reason });
}
