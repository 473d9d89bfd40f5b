import { type App, Validations } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import type { Settings } from '../settings.ts';

const hipaa = (rule: string) => `HIPAA.Security-${rule}`;
const nist = (rule: string) => `NIST.800.53.R5-${rule}`;
const pci = (rule: string) => `PCI.DSS.321-${rule}`;
const healthAndFederal = (rule: string) => [hipaa(rule), nist(rule)];
const allThree = (rule: string) => [hipaa(rule), nist(rule), pci(rule)];

/**
 * Rules that several packs have, each under its own id: the ids by what the rule asks for. What only AwsSolutions asks for
 * is named by its id where it is accepted.
 */
const rules = {
  apiCache: allThree('APIGWCacheEnabledAndEncrypted'),
  apiClientCertificate: allThree('APIGWSSLEnabled'),
  apiExecutionLog: ['AwsSolutions-APIG6', ...allThree('APIGWExecutionLoggingEnabled')],
  apiFirewall: ['AwsSolutions-APIG3', nist('APIGWAssociatedWithWAF'), pci('APIGWAssociatedWithWAF')],
  bucketCopies: [...allThree('S3BucketVersioningEnabled'), ...allThree('S3BucketReplicationEnabled')],
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
  methodWithoutCredentials: ['AwsSolutions-APIG4', 'AwsSolutions-COG4'],
  networkDefaultGroup: allThree('VPCDefaultSecurityGroupClosed'),
  networkFlowLog: ['AwsSolutions-VPC7', ...allThree('VPCFlowLogsEnabled')],
  trailLogGroup: allThree('CloudTrailCloudWatchLogsEnabled'),
  secretRotation: ['AwsSolutions-SMG4', ...healthAndFederal('SecretsManagerRotationEnabled')],
  topicKey: allThree('SNSEncryptedKMS'),
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
