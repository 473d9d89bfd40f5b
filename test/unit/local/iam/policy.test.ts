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

  it('looks at conditions', () => {
    const statements = policy(allow('s3:ListBucket', '*', { Condition: { StringLike: { 's3:prefix': '????/*' } } }));
    const allowed = (context: Readonly<Record<string, string>>) =>
      isAllowed(statements, { action: 's3:ListBucket', resource: 'arn:aws:s3:::outbox', context });
    expect(allowed({ 's3:prefix': 'abcd/' })).toBe(true);
    expect(allowed({ 's3:prefix': 'abc/' })).toBe(false);
    expect(allowed({})).toBe(false);
  });

  it('lets a key open secrets for Secrets Manager only', () => {
    const Condition = { StringEquals: { 'kms:ViaService': 'secretsmanager.eu-north-1.amazonaws.com' } };
    const statements = policy(allow('kms:Decrypt', 'arn:aws:kms:key', { Condition }));
    const through = (service: string) =>
      isAllowed(statements, {
        action: 'kms:Decrypt',
        resource: 'arn:aws:kms:key',
        context: { 'kms:viaservice': `${service}.eu-north-1.amazonaws.com` },
      });
    expect([through('secretsmanager'), through('s3')]).toEqual([true, false]);
    expect(isAllowed(statements, { action: 'kms:Decrypt', resource: 'arn:aws:kms:key' })).toBe(false);
  });

  it('compares versions of TLS as numbers', () => {
    const old = { NumericLessThan: { 's3:TlsVersion': 1.2 } };
    const statements = policy(allow('s3:*', '*'), { ...allow('s3:*', '*', { Condition: old }), Effect: 'Deny' });
    const allowed = (version: string) =>
      isAllowed(statements, { action: 's3:GetObject', resource: 'x', context: { 's3:tlsversion': version } });
    expect([allowed('1.1'), allowed('1.2'), allowed('1.3')]).toEqual([false, true, true]);
  });

  it('is one statement for each action and resource', () => {
    const Condition = { StringLike: { 's3:prefix': 'a/*' } };
    const statements = policy(allow(['s3:A', 's3:B'], ['x', 'y'], { Condition }));
    expect(statements.map(({ action, resource }) => `${action} ${resource}`)).toEqual([
      's3:A x',
      's3:A y',
      's3:B x',
      's3:B y',
    ]);
    expect(new Set(statements.map(({ condition }) => condition))).toEqual(new Set([JSON.stringify(Condition)]));
  });

  it('takes a condition for all values as met if the request has no such key, as IAM does', () => {
    const condition = { 'ForAllValues:StringEquals': { 'events:source': ['data-out', 'other'] } };
    const statements = policy(allow('events:PutEvents', '*', { Condition: condition }));
    const allowed = (context: Readonly<Record<string, string>>) =>
      isAllowed(statements, { action: 'events:PutEvents', resource: 'arn:aws:events:x:1:event-bus/default', context });
    expect(allowed({ 'events:source': 'other' })).toBe(true);
    expect(allowed({ 'events:source': 'aws.s3' })).toBe(false);
    expect(allowed({})).toBe(true);
  });

  it('takes a negated condition as met if the request has no such key, as IAM does', () => {
    const condition = { ArnNotEquals: { 'aws:PrincipalArn': 'arn:aws:iam::1:role/sender' } };
    const statements = policy(allow('sqs:*', '*'), {
      ...allow('sqs:SendMessage', '*', { Condition: condition }),
      Effect: 'Deny',
    });
    const allowed = (context: Readonly<Record<string, string>>) =>
      isAllowed(statements, { action: 'sqs:SendMessage', resource: 'arn:aws:sqs:x:1:jobs', context });
    expect(allowed({ 'aws:principalarn': 'arn:aws:iam::1:role/sender' })).toBe(true);
    expect(allowed({ 'aws:principalarn': 'arn:aws:iam::1:role/other' })).toBe(false);
    expect(allowed({})).toBe(false);
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
    const anyRegion = policy(allow('s3:*', '*', { Condition: { ArnLike: { 'aws:SourceArn': 'arn:aws:s3:*:b' } } }));
    const from = (arn: string) =>
      isAllowed(anyRegion, { action: 's3:A', resource: 'x', context: { 'aws:sourcearn': arn } });
    expect([from('arn:aws:s3:::b'), from('arn:aws:s3:eu-north-1:1:b')]).toEqual([false, false]);
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
