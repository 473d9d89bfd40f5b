import { UnsupportedTemplateError } from '../errors.ts';
import type { Deployment } from '../template/deployment.ts';
import { list, record, whereOf } from '../template/template.ts';
import { parsePolicy, type Statement } from './policy.ts';

/**
 * What the policies of a role say.
 *
 * @param taker who takes the role: an AWS service, such as `lambda.amazonaws.com`, or the ARN of a principal
 * @throws UnsupportedTemplateError when the role is not in the template, when the taker may not take it, or when one of its
 * policies is not in the template or would be evaluated wrongly here
 */
export function statementsOfRole(roleArn: string, taker: string, deployment: Deployment): readonly Statement[] {
  const role = deployment.resources('AWS::IAM::Role').find((each) => each.attribute('Arn') === roleArn);
  if (!role) throw new UnsupportedTemplateError(roleArn, 'the role is not in the template');
  const where = whereOf(role);
  if (!isTrusted(taker, role.property('AssumeRolePolicyDocument'))) {
    throw new UnsupportedTemplateError(where, `${taker} may not assume the role`);
  }
  if (role.property('PermissionsBoundary') !== undefined) {
    throw new UnsupportedTemplateError(where, 'a permissions boundary cannot be evaluated locally');
  }
  const [managed] = list(role.property('ManagedPolicyArns')).map(String);
  if (managed !== undefined) throw new UnsupportedTemplateError(where, `the policy ${managed} is not in the template`);
  const inline = list(role.property('Policies')).map((policy) => record(policy).PolicyDocument);
  const attached = deployment
    .resources('AWS::IAM::Policy')
    .filter((policy) => list(policy.property('Roles')).includes(role.id))
    .map((policy) => policy.property('PolicyDocument'));
  return [...inline, ...attached].flatMap((document) => parsePolicy(document, where));
}

/** A statement with conditions is taken as one that does not let the taker in, and any denial as one that keeps the taker out. */
function isTrusted(taker: string, document: unknown): boolean {
  const statements = list(record(document).Statement).map(record);
  return (
    statements.every(({ Effect: effect }) => effect !== 'Deny') &&
    statements.some(
      ({ Effect: effect, Action: action, Principal: principal, Condition: condition }) =>
        effect === 'Allow' &&
        condition === undefined &&
        list(action).includes('sts:AssumeRole') &&
        ['Service', 'AWS'].some((kind) => list(record(principal)[kind]).includes(taker)),
    )
  );
}
