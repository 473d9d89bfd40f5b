import { Aspects, type CfnResource, Stack } from 'aws-cdk-lib';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { type IKey, Key } from 'aws-cdk-lib/aws-kms';
import { CfnLogGroup, LogGroup } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import type { ServiceFunction } from '../functions/service-function.ts';

export interface KeyUse {
  /** The service that uses the key for the caller. */
  readonly service: 's3' | 'secretsmanager' | 'sqs';
  readonly actions: readonly ('kms:Decrypt' | 'kms:GenerateDataKey')[];
  /** @default - there is no customer key, and nothing is granted */
  readonly keyArn: string | undefined;
}

/** A customer key of the stack of `scope`: one a purpose, so that a grant on one asset is never a grant on another. */
export function newKey(scope: Construct, id: string, description: string): Key {
  return new Key(Stack.of(scope), id, { description, enableKeyRotation: true });
}

/** Let a caller use a customer key through one service only: it cannot decrypt ciphertext from elsewhere. */
export function allowKey(
  grantee: Pick<ServiceFunction, 'allow'>,
  scope: Construct,
  { service, actions, keyArn }: KeyUse,
): void {
  if (!keyArn) return;
  const through = `${service}.${Stack.of(scope).region}.amazonaws.com`;
  grantee.allow({
    actions: [...actions],
    resources: [keyArn],
    conditions: { StringEquals: { 'kms:ViaService': through } },
  });
}

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
