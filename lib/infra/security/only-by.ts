import { Stack } from 'aws-cdk-lib';
import { AnyPrincipal, Effect, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import { stackNames } from '../../contract/outputs.ts';

interface OnlyByProps {
  readonly stage: string | undefined;
  /** The function, by the id of its construct. */
  readonly functionName: 'StageFile' | 'SettleDelivery' | 'DirectFile';
  readonly actions: string[];
  readonly resources: string[];
}

/** For the policy of a resource: refuse actions to every principal but one function, whatever their own policies allow. */
export function onlyBy(scope: Construct, { stage, functionName, actions, resources }: OnlyByProps): PolicyStatement {
  const resourceName = roleNames(stackNames(stage).service, functionName);
  const role = Stack.of(scope).formatArn({ service: 'iam', region: '', resource: 'role', resourceName });
  return new PolicyStatement({
    effect: Effect.DENY,
    principals: [new AnyPrincipal()],
    ...{ actions, resources },
    conditions: { ArnNotLike: { 'aws:PrincipalArn': role } },
  });
}

/** What CloudFormation keeps at least of a long stack name, and of a long logical id: seen, not documented. */
const kept = 24;

/**
 * Pattern of the role names of a function. CloudFormation makes them of stack, logical id and a random end. The policy is in the
 * other stack, which is updated before this one: it must fit the role that the function has now, and the one that it gets.
 */
function roleNames(stackName: string, functionName: string): string {
  const ofStack = stackName.length > kept ? `${stackName.slice(0, kept)}*` : stackName;
  return `${ofStack}-${`Functions${functionName}Role`.slice(0, kept)}*`;
}
