import { describe, expect, test } from 'vitest';
import { statementsOfRole } from '../../../../lib/local/iam/roles.ts';
import { arnIn, deployed } from '../../../helpers/deployed.ts';

const trust = (Service: unknown, rest: object = {}) => ({
  Statement: [{ Effect: 'Allow', Principal: { Service }, Action: 'sts:AssumeRole', ...rest }],
});
const document = (Action: string) => ({ Statement: [{ Effect: 'Allow', Action, Resource: '*' }] });

function statements(properties: object, service = 'lambda.amazonaws.com') {
  const deployment = deployed({
    Role: {
      Type: 'AWS::IAM::Role',
      Properties: { AssumeRolePolicyDocument: trust('lambda.amazonaws.com'), ...properties },
    },
    Own: { Type: 'AWS::IAM::Policy', Properties: { Roles: [{ Ref: 'Role' }], PolicyDocument: document('a:Own') } },
    Foreign: { Type: 'AWS::IAM::Policy', Properties: { Roles: ['other'], PolicyDocument: document('a:Foreign') } },
  });
  return statementsOfRole(arnIn(deployment, 'AWS::IAM::Role', 'Role'), service, deployment).map(({ action }) => action);
}

describe('a role is refused', () => {
  test.each([
    ['that trusts another service', trust('events.amazonaws.com')],
    [
      'that trusts the service under a condition',
      trust('lambda.amazonaws.com', { Condition: { Bool: { x: 'true' } } }),
    ],
    [
      'that denies what it also allows',
      {
        Statement: [
          ...trust('lambda.amazonaws.com').Statement,
          { Effect: 'Deny', Principal: '*', Action: 'sts:*', Condition: { Bool: { x: 'true' } } },
        ],
      },
    ],
  ])('%s', (_, AssumeRolePolicyDocument) => {
    expect(() => statements({ AssumeRolePolicyDocument })).toThrow(
      'S/Role: lambda.amazonaws.com may not assume the role',
    );
  });

  test('that has a policy outside the template, whose text is not known', () => {
    const arn = 'arn:aws:iam::aws:policy/AdministratorAccess';
    expect(() => statements({ ManagedPolicyArns: [arn] })).toThrow(`the policy ${arn} is not in the template`);
  });
});
