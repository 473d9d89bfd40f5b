import { type App, Validations } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import type { Settings } from '../settings.ts';

const hipaa = (rule: string) => `HIPAA.Security-${rule}`;

/** Rules that several packs have, each under its own id: the ids by what the rule asks for. */
const rules = {
  apiExecutionLog: ['AwsSolutions-APIG6', hipaa('APIGWExecutionLoggingEnabled')],
  bucketCopies: [hipaa('S3BucketVersioningEnabled'), hipaa('S3BucketReplicationEnabled')],
  databaseDeletionProtection: ['AwsSolutions-RDS10', hipaa('RDSInstanceDeletionProtectionEnabled')],
  deadLettersOfFunctions: ['Serverless-LambdaDLQ', hipaa('LambdaDLQ')],
  deadLettersOfQueues: ['AwsSolutions-SQS3', 'Serverless-SQSRedrivePolicy'],
  networkFlowLog: ['AwsSolutions-VPC7', hipaa('VPCFlowLogsEnabled')],
  secretRotation: ['AwsSolutions-SMG4', hipaa('SecretsManagerRotationEnabled')],
} as const;

/** Accept the findings whose reason holds for the whole application. The others are beside the code that causes them. */
export function acceptForTheWhole(app: App, { logKeys = 'aws' }: Settings): void {
  acknowledge(app, {
    'HIPAA.Security-LambdaInsideVPC':
      'The database takes no connection from a network: functions use the RDS Data API. A network for the functions would need a way out and close nothing.',
    'HIPAA.Security-LambdaConcurrency':
      "The throttling of the APIs and the settings `concurrency` limit how many functions run. A reservation for each function would take it from the account's limit.",
    // test/resilience/security-rules.resilience.ts holds who invokes functions. Secrets Manager does so synchronously (Lambda developer guide).
    deadLettersOfFunctions:
      'Only schedules invoke these functions asynchronously. Their events are always the same, and the next one starts the same work. Work that carries data comes from queues, which have dead-letter queues.',
    'HIPAA.Security-IAMNoInlinePolicy':
      'Each inline policy lists what one role needs, and ends with it. A managed policy could be attached to other roles.',
    ...(logKeys === 'aws' && {
      'HIPAA.Security-CloudWatchLogGroupEncrypted':
        "With `logKeys: 'aws'`, CloudWatch Logs encrypts the logs under its own key. `logKeys: 'customer'` makes your own key. No log holds a visa, a password or a key.",
    }),
  });
}

/**
 * Accept findings of the security rules (cdk-nag, CloudFormation validation) for one construct and its children. Every
 * exception is beside the code that causes it.
 *
 * @param reasons why each is right, by the name of the rule in the table above, or by the id of a rule that one pack has
 */
export function acknowledge(
  construct: Construct,
  reasons: { readonly [name in keyof typeof rules]?: string } & {
    readonly [id: `${'AwsSolutions' | 'HIPAA.Security' | 'Serverless'}-${string}`]: string;
  },
): void {
  for (const [name, reason] of Object.entries(reasons)) {
    const ids = name in rules ? rules[name as keyof typeof rules] : [name];
    for (const id of ids) Validations.of(construct).acknowledge({ id, reason });
  }
}
