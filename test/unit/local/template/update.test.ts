import { describe, expect, test } from 'vitest';
import type { Stack } from '../../../../lib/local/template/assembly.ts';
import { deploy } from '../../../../lib/local/template/deployment.ts';
import type { Template } from '../../../../lib/local/template/template.ts';
import { checkUpdate, updateSteps } from '../../../../lib/local/template/update.ts';

const addresses = { queueUrl: (name: string) => `http://local/0/${name}`, apiUrl: (id: string) => `http://api/${id}` };
const stack = (resources: NonNullable<Template['Resources']>, others: Partial<Template> = {}): Stack => ({
  name: 'S',
  template: { Resources: resources, ...others },
  region: undefined,
  assets: new Map(),
});
const lambda = (code: string, others: object = {}) => ({
  Type: 'AWS::Lambda::Function',
  Properties: { Code: { S3Key: code } },
  ...others,
});
const stepsOf = (before: Stack, after: Stack) =>
  [...updateSteps([before], [after])].map(({ action, logicalId }) => `${action} ${logicalId}`);

describe('the steps', () => {
  test('are none where nothing changed but metadata', () => {
    const after = stack({ One: lambda('a', { Metadata: { 'aws:asset:path': 'elsewhere' } }) });
    expect(stepsOf(stack({ One: lambda('a') }), after)).toEqual([]);
  });

  test('follow what resources refer to and wait for, and remove at last, dependants first', () => {
    const before = stack({
      Gone: { Type: 'AWS::IAM::Role' },
      GoneToo: { Type: 'AWS::IAM::Policy', Properties: { Roles: [{ Ref: 'Gone' }] } },
      Reader: lambda('old'),
    });
    const after = stack({
      Reader: lambda('new', { DependsOn: ['Migration'] }),
      Migration: {
        Type: 'Custom::Trigger',
        Properties: {
          HandlerArn: { 'Fn::Sub': `\${Migrate.Arn}` },
          ServiceToken: { 'Fn::GetAtt': ['Provider', 'Arn'] },
        },
      },
      Provider: lambda('provider'),
      Migrate: lambda('migrate'),
    });
    expect(stepsOf(before, after)).toEqual([
      'put Migrate',
      'put Provider',
      'put Migration',
      'put Reader',
      'delete GoneToo',
      'delete Gone',
    ]);
  });

  test('leave each resource as it was until its own, and outputs until all resources exist', () => {
    const output = { Value: { 'Fn::GetAtt': ['Second', 'Arn'] } };
    const before = stack({ First: lambda('old'), Last: lambda('old') });
    const after = stack(
      { First: lambda('new'), Second: lambda('new', { DependsOn: 'First' }) },
      { Outputs: { Made: output } },
    );
    const states = [...updateSteps([before], [after])].map(({ stacks: [now] }) => [
      Object.entries(now?.template.Resources ?? {}).map(
        ([id, { Properties }]) => `${id} ${JSON.stringify(Properties)}`,
      ),
      Object.keys(now?.template.Outputs ?? {}),
    ]);
    const [old, fresh] = ['{"Code":{"S3Key":"old"}}', '{"Code":{"S3Key":"new"}}'];
    expect(states).toEqual([
      [[`First ${fresh}`, `Last ${old}`], []],
      [[`First ${fresh}`, `Last ${old}`, `Second ${fresh}`], []],
      [[`First ${fresh}`, `Second ${fresh}`], ['Made']],
    ]);
  });

  test('refuse to take a stack away', () => {
    expect(() => [...updateSteps([stack({})], [])]).toThrow('S: an update that takes a stack away');
  });
});

const cluster = (properties: Readonly<Record<string, string>>) => ({
  It: { Type: 'AWS::RDS::DBCluster', Properties: properties },
});
const check = (before: Parameters<typeof stack>[0], after: Parameters<typeof stack>[0]) => () => {
  const [old, next] = [stack(before), stack(after)];
  checkUpdate([...updateSteps([old], [next])], deploy([old], addresses), deploy([next], addresses));
};

test('a cluster takes another version and another parameter group', () => {
  const old = cluster({ EngineVersion: '18.6', DatabaseName: 'd' });
  expect(
    check(old, cluster({ EngineVersion: '18', DatabaseName: 'd', DBClusterParameterGroupName: 'g' })),
  ).not.toThrow();
});

describe('an update is refused', () => {
  const queue = (name: string) => ({ Type: 'AWS::SQS::Queue', Properties: { QueueName: name } });
  const secret = (description: string) => ({
    Type: 'AWS::SecretsManager::Secret',
    Properties: { Name: 'n', Description: description },
  });
  test.each([
    ['that replaces a resource', { It: queue('a') }, { It: queue('b') }, 'replaces it'],
    ['that changes its type', { It: lambda('a') }, { It: queue('b') }, 'replaces it'],
    ['of a cluster', cluster({ DatabaseName: 'a' }), cluster({ DatabaseName: 'b' }), 'puts AWS::RDS::DBCluster'],
    ['of what is made at a start only', { It: secret('a') }, { It: secret('b') }, 'puts AWS::SecretsManager::Secret'],
    ['that takes a queue away', { It: queue('a') }, {}, 'deletes AWS::SQS::Queue'],
  ])('%s', (_, before, after, reason) => {
    expect(check(before, after)).toThrow(`S/It: an update that ${reason}`);
  });
});
