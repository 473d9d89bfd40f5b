import { describe, expect, it, test } from 'vitest';
import { AccessControl, type AccessEntry, evaluate } from '../../../../lib/local/iam/access.ts';
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

  it('decides about each call on the key, and about no other', () => {
    const { policies, key } = withPolicies({ ...allow('kms:*', '*', { Condition }), Principal: root });
    expect(evaluate(policies, everything, { ...key, action: 'kms:ListGrants' }).refusal).toContain('no resource-based');
    expect(evaluate(policies, everything, { action: 'kms:ListKeys', resource: '*' }).refusal).toBeUndefined();
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

describe('what is told of decisions', () => {
  const none = new ResourcePolicies(deployed({}));
  const read = (key: string) => ({ action: 's3:GetObject', resource: `arn:aws:s3:::b/${key}` });

  it('is the first of each kind, with the grants that allow it, and each refusal by its resource', () => {
    const entries: AccessEntry[] = [];
    const control = new AccessControl(none, (entry) => entries.push(entry));
    const role = caller(allow('s3:GetObject', 'arn:aws:s3:::b/a*'), allow('s3:*', 'arn:aws:s3:::b/ab*'));
    for (const key of ['a1', 'a2', 'ab', 'c', 'c', 'd']) control.evaluate(role, read(key), 'code');
    control.evaluate(role, read('a3'), 'url');
    control.evaluate(role, read('ab'), undefined);
    expect(
      entries.map(({ origin, permission, grants, refusal }) => [origin, permission.resource, grants, !refusal]),
    ).toEqual([
      ['code', 'arn:aws:s3:::b/a1', ['s3:GetObject arn:aws:s3:::b/a*'], true],
      ['code', 'arn:aws:s3:::b/ab', ['s3:GetObject arn:aws:s3:::b/a*', 's3:* arn:aws:s3:::b/ab*'], true],
      ['code', 'arn:aws:s3:::b/c', [], false],
      ['code', 'arn:aws:s3:::b/d', [], false],
      ['url', 'arn:aws:s3:::b/a3', ['s3:GetObject arn:aws:s3:::b/a*'], true],
    ]);
    expect(entries[0]).toMatchObject({ name: 'work', role: roleArn });
  });
});
