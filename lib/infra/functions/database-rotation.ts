import { Stack } from 'aws-cdk-lib';
import { ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { CfnRotationSchedule } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';

interface DatabaseRotationProps {
  readonly rotate: LambdaFunction;
  /** Of the database roles, by their names. */
  readonly secretArns: Readonly<Record<string, string>>;
  readonly days: number;
}

/**
 * Lets Secrets Manager rotate the secrets of the database roles. It belongs to the service stack: without that stack the secrets
 * stay as they are, and work.
 */
export class DatabaseRotation extends Construct {
  constructor(scope: Construct, id: string, { rotate, secretArns, days }: DatabaseRotationProps) {
    super(scope, id);
    for (const [role, secretArn] of Object.entries(secretArns)) {
      // The construct `RotationSchedule` would grant more than the function needs, in its own policy.
      const schedule = new CfnRotationSchedule(this, role, {
        secretId: secretArn,
        rotationLambdaArn: rotate.functionArn,
        rotationRules: { automaticallyAfterDays: days },
        // A deployment should change nothing that works.
        rotateImmediatelyOnUpdate: false,
      });
      const permission = `Rotate${role}`;
      rotate.addPermission(permission, {
        principal: new ServicePrincipal('secretsmanager.amazonaws.com'),
        sourceAccount: Stack.of(this).account,
        sourceArn: secretArn,
      });
      schedule.node.addDependency(rotate.node.findChild(permission));
    }
  }
}
