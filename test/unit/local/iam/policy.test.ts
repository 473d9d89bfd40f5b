import { describe, expect, it } from 'vitest';
import { isAllowed, parsePolicy } from '../../../../lib/local/iam/policy.ts';

const policy = (...Statement: unknown[]) => parsePolicy({ Version: '2012-10-17', Statement }, 'here');
const allow = (Action: unknown, Resource: unknown, rest: object = {}) => ({
  Effect: 'Allow',
  Action,
  Resource,
  ...rest,
});

describe('a policy', () => {
  it('allows what it names, with wildcards, and nothing else', () => {
    const statements = policy(
      allow(['s3:GetObject*', 'sqs:SendMessage'], ['arn:aws:s3:::outbox/*', 'arn:aws:sqs:x:1:jobs']),
    );
    const allowed = (action: string, resource: string) => isAllowed(statements, { action, resource });
    expect(allowed('s3:GetObject', 'arn:aws:s3:::outbox/a/b')).toBe(true);
    expect(allowed('S3:getobjectversion', 'arn:aws:s3:::outbox/a')).toBe(true);
    expect(allowed('s3:GetObject', 'arn:aws:s3:::outbox')).toBe(false);
    expect(allowed('s3:GetObject', 'arn:aws:s3:::outboxes/a')).toBe(false);
    expect(allowed('s3:PutObject', 'arn:aws:s3:::outbox/a')).toBe(false);
    expect(allowed('sqs:SendMessage', 'arn:aws:sqs:x:1:jobs-2')).toBe(false);
  });

  it('that denies wins', () => {
    const statements = policy(allow('s3:*', '*'), {
      ...allow('s3:PutObject', 'arn:aws:s3:::archive/*'),
      Effect: 'Deny',
    });
    expect(isAllowed(statements, { action: 's3:PutObject', resource: 'arn:aws:s3:::archive/x' })).toBe(false);
    expect(isAllowed(statements, { action: 's3:PutObject', resource: 'arn:aws:s3:::outbox/x' })).toBe(true);
  });

  const except = (Condition: object) => [allow('x:*', '*'), { ...allow('x:Do', '*', { Condition }), Effect: 'Deny' }];
  const only = (Condition: object) => [allow('x:Do', '*', { Condition })];
  const role = 'arn:aws:iam::1:role/sender';
  const service = 'secretsmanager.eu-north-1.amazonaws.com';
  it.each([
    [
      'a pattern',
      only({ StringLike: { 's3:prefix': '????/*' } }),
      's3:prefix',
      { 'abcd/': true, 'abc/': false },
      false,
    ],
    [
      'a string',
      only({ StringEquals: { 'kms:ViaService': service } }),
      'kms:viaservice',
      { [service]: true, 's3.eu-north-1.amazonaws.com': false },
      false,
    ],
    [
      'versions of TLS as numbers',
      except({ NumericLessThan: { 's3:TlsVersion': 1.2 } }),
      's3:tlsversion',
      { '1.1': false, '1.2': true, '1.3': true },
      true,
    ],
    [
      'all values, met if the request has no such key, as IAM does',
      only({ 'ForAllValues:StringEquals': { 'events:source': ['data-out', 'other'] } }),
      'events:source',
      { other: true, 'aws.s3': false },
      true,
    ],
    [
      'a negation, met if the request has no such key, as IAM does',
      except({ ArnNotEquals: { 'aws:PrincipalArn': role } }),
      'aws:principalarn',
      { [role]: true, 'arn:aws:iam::1:role/other': false },
      false,
    ],
  ])('compares %s', (_, statements, key, outcomes: Record<string, boolean>, without) => {
    const allowed = (context: Readonly<Record<string, string>>) =>
      isAllowed(policy(...statements), { action: 'x:Do', resource: 'arn:aws:x:eu-north-1:1:one', context });
    for (const [value, expected] of Object.entries(outcomes)) expect(allowed({ [key]: value }), value).toBe(expected);
    expect(allowed({})).toBe(without);
  });

  it('compares ARNs part by part, as IAM does: a wildcard stays in its part', () => {
    const admitted = 'arn:aws:iam::1:role/Stack/eu-north-1/StageFile/*';
    const statements = policy(allow('s3:*', '*'), {
      ...allow('s3:PutObject', '*', { Condition: { ArnNotLike: { 'aws:PrincipalArn': admitted } } }),
      Effect: 'Deny',
    });
    const allowed = (arn?: string) =>
      isAllowed(statements, {
        ...{ action: 's3:PutObject', resource: 'arn:aws:s3:::b/k' },
        context: arn === undefined ? {} : { 'aws:principalarn': arn },
      });
    expect(allowed('arn:aws:iam::1:role/Stack/eu-north-1/StageFile/Stack-Role-1')).toBe(true);
    for (const other of [
      'arn:aws:iam::1:role/Stack/eu-north-1/SettleDelivery/Stack-Role-1',
      'arn:aws:iam::2:role/Stack/eu-north-1/StageFile/Stack-Role-1',
      'arn:aws:iam::1:user/Stack/eu-north-1/StageFile/Stack-Role-1',
      undefined,
    ]) {
      expect(allowed(other), other).toBe(false);
    }
  });

  it('that cannot be evaluated here is an error', () => {
    expect(() => policy(allow('a:b', '*', { Condition: { DateLessThan: { 'aws:CurrentTime': 'x' } } }))).toThrow(
      /DateLessThan/,
    );
    const unknownKey = { Condition: { StringEquals: { 's3:x-amz-acl': 'private' } } };
    expect(() => policy(allow('a:b', '*', unknownKey))).toThrow(/here.*s3:x-amz-acl/);
    const variable = '$' + '{aws:PrincipalTag/team}';
    const withVariable = { Condition: { StringLike: { 's3:prefix': variable } } };
    expect(() => policy(allow('a:b', '*', withVariable))).toThrow(/here.*PrincipalTag/);
    expect(() => policy(allow('a:b', `arn:aws:s3:::x/${variable}`))).toThrow(/here.*PrincipalTag/);
    expect(() => policy({ Effect: 'Allow', NotAction: 'a:b', Resource: '*' })).toThrow(/here/);
  });
});
