import { describe, expect, it, test } from 'vitest';
import { evaluate } from '../../../../lib/local/iam/access.ts';
import { type Permission, parsePolicy } from '../../../../lib/local/iam/policy.ts';
import { ResourcePolicies } from '../../../../lib/local/iam/resource-policies.ts';
import { arnIn, deployed } from '../../../helpers/deployed.ts';

const account = '000000000000';
const root = { AWS: `arn:aws:iam::${account}:root` };
const roleArn = `arn:aws:iam::${account}:role/work`;
const caller = (...Statement: object[]) => ({
  name: 'work',
  arn: roleArn,
  statements: parsePolicy({ Statement }, 'here'),
});
const allow = (Action: unknown, Resource: unknown = '*', rest: object = {}) => ({
  Effect: 'Allow',
  Action,
  Resource,
  ...rest,
});
const everything = caller(allow('*'));

/** A bucket, a queue and a key, each with a policy of these statements. */
function withPolicies(...Statement: object[]) {
  const PolicyDocument = { Statement };
  const deployment = deployed({
    Bucket: { Type: 'AWS::S3::Bucket' },
    BucketRules: { Type: 'AWS::S3::BucketPolicy', Properties: { Bucket: { Ref: 'Bucket' }, PolicyDocument } },
    Queue: { Type: 'AWS::SQS::Queue' },
    QueueRules: { Type: 'AWS::SQS::QueuePolicy', Properties: { Queues: [{ Ref: 'Queue' }], PolicyDocument } },
    Key: { Type: 'AWS::KMS::Key', Properties: { KeyPolicy: PolicyDocument } },
    Plain: { Type: 'AWS::KMS::Key' },
  });
  return {
    policies: new ResourcePolicies(deployment),
    object: { action: 's3:GetObject', resource: `${arnIn(deployment, 'AWS::S3::Bucket', 'Bucket')}/a/b` },
    message: { action: 'sqs:SendMessage', resource: arnIn(deployment, 'AWS::SQS::Queue', 'Queue') },
    key: { action: 'kms:Decrypt', resource: arnIn(deployment, 'AWS::KMS::Key', 'Key') },
    plainKey: { action: 'kms:Decrypt', resource: arnIn(deployment, 'AWS::KMS::Key', 'Plain') },
  };
}

describe('the policy of a bucket or a queue', () => {
  const each = ['object', 'message'] as const;

  test.each(each)('denies the %s to every caller, whatever their own policies allow', (name) => {
    const all = withPolicies({ ...allow('*'), Effect: 'Deny', Principal: '*' });
    expect(evaluate(all.policies, everything, all[name]).refusal).toBe(
      'with an explicit deny in a resource-based policy',
    );
    expect(evaluate(all.policies, everything, { action: 's3:GetObject', resource: 'other' }).refusal).toBeUndefined();
  });

  test.each(each)('gives the %s to a role that it names, and not to the account', (name) => {
    const none = caller();
    const named = withPolicies({ ...allow('*'), Principal: { AWS: roleArn } });
    expect(evaluate(named.policies, none, named[name])).toEqual({ refusal: undefined, grants: [] });
    const ofAccount = withPolicies({ ...allow('*'), Principal: root });
    expect(evaluate(ofAccount.policies, none, ofAccount[name]).refusal).toContain('no identity-based policy allows');
  });

  it('may refuse all callers but one role, and what no AWS service sends', () => {
    const deny = { Effect: 'Deny', Principal: { AWS: '*' }, Action: 'sqs:SendMessage', Resource: '*' };
    const others = withPolicies({ ...deny, Condition: { ArnNotEquals: { 'aws:PrincipalArn': [roleArn] } } });
    expect(evaluate(others.policies, everything, others.message).refusal).toBeUndefined();
    const another = { ...everything, arn: `${roleArn}-2` };
    expect(evaluate(others.policies, another, others.message).refusal).toContain('explicit deny');
    const people = withPolicies({ ...deny, Condition: { Bool: { 'aws:PrincipalIsAWSService': 'false' } } });
    expect(evaluate(people.policies, everything, people.message).refusal).toContain('explicit deny');
  });

  test.each([
    ['another kind of principal', { Principal: { CanonicalUser: 'x' } }, /principal/],
    ['all principals but some', { NotPrincipal: root }, /principal/],
    [
      'a key of conditions that has no value here',
      { Principal: '*', Condition: { Bool: { 'aws:x': 'true' } } },
      /aws:x/,
    ],
  ])('about %s is refused at the start', (_, rest, cause) => {
    expect(() => withPolicies({ ...allow('*'), ...rest })).toThrow(cause);
  });
});

describe('the policy of a key', () => {
  const Condition = { StringEquals: { 'kms:ViaService': 's3.eu-north-1.amazonaws.com' } };
  const via = (permission: Permission, service: string) => ({
    ...permission,
    context: { 'kms:viaservice': `${service}.eu-north-1.amazonaws.com` },
  });

  it('has to allow what the role may, also where the role may do everything', () => {
    const { policies, key } = withPolicies({ ...allow('kms:*', '*', { Condition }), Principal: root });
    expect(evaluate(policies, everything, via(key, 's3')).refusal).toBeUndefined();
    expect(evaluate(policies, everything, via(key, 'sqs')).refusal).toBe(
      'because no resource-based policy allows the kms:Decrypt action',
    );
    expect(evaluate(policies, everything, key).refusal).toContain('no resource-based policy');
  });

  it('that names the account leaves the decision to the role', () => {
    const { policies, key } = withPolicies({ ...allow('kms:*'), Principal: root });
    expect(evaluate(policies, caller(), key).refusal).toBe(
      'because no identity-based policy allows the kms:Decrypt action',
    );
    const grant = caller(allow('kms:Decrypt', key.resource, { Condition }));
    expect(evaluate(policies, grant, via(key, 's3')).refusal).toBeUndefined();
    expect(evaluate(policies, grant, via(key, 'secretsmanager')).refusal).toContain('no identity-based policy');
  });
});
