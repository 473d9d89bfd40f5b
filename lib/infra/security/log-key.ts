import { Aspects, type CfnResource, Stack } from 'aws-cdk-lib';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IKey, Key } from 'aws-cdk-lib/aws-kms';
import { CfnLogGroup, LogGroup } from 'aws-cdk-lib/aws-logs';

/** Let CloudWatch Logs use a key for the log groups of this account and region, and for nothing else. */
export function allowLogs(key: Key): void {
  const stack = Stack.of(key);
  const logGroups = stack.formatArn({ service: 'logs', resource: 'log-group:*' });
  key.addToResourcePolicy(
    new PolicyStatement({
      principals: [new ServicePrincipal(`logs.${stack.region}.amazonaws.com`)],
      actions: ['kms:Encrypt', 'kms:Decrypt', 'kms:ReEncrypt*', 'kms:GenerateDataKey*', 'kms:DescribeKey'],
      resources: ['*'],
      conditions: { ArnLike: { 'kms:EncryptionContext:aws:logs:arn': logGroups } },
    }),
  );
}

/**
 * Put every log group of a stack under a key, also those that are made later. The functions of the CDK's own, behind triggers,
 * have no group: AWS Lambda would make one without a key.
 */
export function encryptLogs(stack: Stack, key: IKey, retentionDays: number): void {
  const providers = stack.node.children.filter(({ node }) => node.id.endsWith('CustomResourceProvider'));
  for (const provider of providers) {
    const logs = new LogGroup(provider, 'Logs', { retention: retentionDays });
    const handler = provider.node.findChild('Handler') as CfnResource;
    handler.addPropertyOverride('LoggingConfig', { LogGroup: logs.logGroupName });
  }
  Aspects.of(stack).add({
    visit: (node) => {
      if (node instanceof CfnLogGroup) node.kmsKeyId = key.keyArn;
    },
  });
}
