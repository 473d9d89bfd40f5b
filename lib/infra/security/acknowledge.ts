import { Validations } from 'aws-cdk-lib';
import type { Construct } from 'constructs';

/**
 * Accept findings of the security rules (cdk-nag, CloudFormation validation) for one construct and its children. Every
 * exception stands beside the code that causes it and says why it is right.
 */
export function acknowledge(construct: Construct, reason: string, ...ids: readonly string[]): void {
  for (const id of ids) Validations.of(construct).acknowledge({ id, reason });
}
