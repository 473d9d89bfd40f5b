import { Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import type { Grantee } from '../functions/service-function.ts';

export interface KeyUse {
  /** The service that uses the key for the caller. */
  readonly service: 's3' | 'secretsmanager' | 'sqs';
  readonly actions: readonly ('kms:Decrypt' | 'kms:GenerateDataKey')[];
  /** @default - there is no customer key, and nothing is granted */
  readonly keyArn: string | undefined;
}

/** Let a caller use a customer key through one service only: it cannot decrypt ciphertext from elsewhere. */
export function allowKey(
  grantee: Pick<Grantee, 'allow'>,
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
