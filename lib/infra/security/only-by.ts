import { ArnFormat, Stack } from 'aws-cdk-lib';
import { AnyPrincipal, Effect, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import { stackNames } from '../../contract/outputs.ts';

/** The functions that policies of the storage stack name. Only their roles have a path: it replaces a role that had none. */
type NamedFunction = 'StageFile' | 'SettleDelivery' | 'DirectFile';
const namedFunctions: ReadonlySet<string> = new Set<NamedFunction>(['StageFile', 'SettleDelivery', 'DirectFile']);

/** Path of the role of a function. A policy in the other stack, which is made before the role, knows it by this path. */
export function rolePath(scope: Construct, stackName: string, functionName: string): string | undefined {
  if (!namedFunctions.has(functionName)) return undefined;
  return `/${stackName}/${Stack.of(scope).region}/${functionName}/`;
}

interface OnlyByProps {
  readonly stage: string | undefined;
  /** The function, by the id of its construct. */
  readonly functionName: NamedFunction;
  readonly actions: string[];
  readonly resources: string[];
}

/** For the policy of a resource: refuse actions to every principal but one function, whatever their own policies allow. */
export function onlyBy(scope: Construct, { stage, functionName, actions, resources }: OnlyByProps): PolicyStatement {
  const path = rolePath(scope, stackNames(stage).service, functionName);
  const role = Stack.of(scope).formatArn({
    service: 'iam',
    region: '',
    resource: `role${path}*`,
    arnFormat: ArnFormat.NO_RESOURCE_NAME,
  });
  return new PolicyStatement({
    effect: Effect.DENY,
    principals: [new AnyPrincipal()],
    ...{ actions, resources },
    conditions: { ArnNotLike: { 'aws:PrincipalArn': role } },
  });
}
