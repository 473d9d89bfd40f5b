import { describe, expect, test } from 'vitest';
import { inventoryOf } from '../../../../lib/ops/cost/inventory.ts';

const lambda = (MemorySize: number, more = {}) => ({
  Type: 'AWS::Lambda::Function',
  Properties: { MemorySize, ...more },
});
const rule = (ScheduleExpression: string, target: string) => ({
  Type: 'AWS::Events::Rule',
  Properties: { ScheduleExpression, Targets: [{ Arn: { 'Fn::GetAtt': [target, 'Arn'] } }] },
});
const of = (Type: string, Properties: object = {}) => ({ Type, Properties });
const outbox = of('AWS::S3::Bucket', {
  LifecycleConfiguration: {
    Rules: [
      { Id: 'expiry', ExpirationInDays: 14 },
      { Id: 'direct', Prefix: 'direct/', ExpirationInDays: 1 },
    ],
  },
});
const logs = of('AWS::S3::Bucket', { LifecycleConfiguration: { Rules: [{ Id: 'expiry', ExpirationInDays: 365 }] } });

const storage = {
  Resources: {
    A: of('AWS::KMS::Key'),
    B: of('AWS::KMS::Key'),
    C: of('AWS::SecretsManager::Secret'),
    D: of('AWS::RDS::DBCluster', {
      ManageMasterUserPassword: true,
      ServerlessV2ScalingConfiguration: { MinCapacity: 0.5 },
    }),
    E: of('AWS::RDS::DBInstance'),
    F: logs,
    G: outbox,
  },
};
const service = {
  Resources: {
    FunctionsSweepFunction12: lambda(256, { TracingConfig: { Mode: 'Active' } }),
    FunctionsStageFileFunctionAB: lambda(512),
    H: rule('rate(5 minutes)', 'FunctionsSweepFunction12'),
    I: rule('rate(1 hour)', 'FunctionsStageFileFunctionAB'),
    J: of('AWS::Events::Rule', { EventPattern: {} }),
    K: of('AWS::CloudWatch::Alarm', { MetricName: 'Errors' }),
    L: of('AWS::CloudWatch::Alarm', {
      Metrics: [{ Expression: 'm0 + m1' }, { MetricStat: {} }, { MetricStat: {} }],
    }),
    M: of('AWS::CloudWatch::Dashboard'),
    N: of('AWS::WAFv2::WebACL', { Rules: [{}, {}] }),
    O: of('AWS::Lambda::EventSourceMapping'),
    P: of('AWS::CloudTrail::Trail'),
  },
};

describe('the inventory of templates', () => {
  test('counts what has a price', () => {
    const { memoryGib, ...counts } = inventoryOf([storage, service]);
    expect(counts).toEqual({
      keys: 2,
      // With the one that RDS makes.
      secrets: 2,
      // One of K, two of L: not its expression.
      alarmMetrics: 3,
      dashboards: 1,
      webAcls: 1,
      webAclRules: 2,
      clusters: 1,
      leastCapacity: 0.5,
      polledQueues: 1,
      // 730 hours, twelve times each, and once each.
      schedules: [
        { runsAMonth: 8760, memoryGib: 0.25 },
        { runsAMonth: 730, memoryGib: 0.5 },
      ],
      outboxDays: 14,
      isTraced: true,
      recordsObjects: true,
    });
    expect(memoryGib('StageFile')).toBe(0.5);
    expect(() => memoryGib('Stage')).toThrow('no function Stage');
  });

  test('fails for what it does not understand, rather than leave it out', () => {
    const changed = (more: object) => [storage, { Resources: { ...service.Resources, ...more } }];
    expect(() => inventoryOf(changed({ H: rule('cron(0 8 * * ? *)', 'FunctionsSweepFunction12') }))).toThrow('cron');
    expect(() => inventoryOf(changed({ H: rule('rate(5 minutes)', 'Elsewhere') }))).toThrow('runs nothing');
    expect(() => inventoryOf([service])).toThrow('no outbox');
  });

  test('counts no database of an operator who has one', () => {
    const { D: _, E: __, ...others } = storage.Resources;
    expect(inventoryOf([{ Resources: others }, service])).toMatchObject({ clusters: 0, leastCapacity: 0, secrets: 1 });
  });
});
