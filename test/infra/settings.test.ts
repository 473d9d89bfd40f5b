import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, Validations } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { Bucket } from 'aws-cdk-lib/aws-s3';
import { AwsSolutionsChecks } from 'cdk-nag';
import { afterAll, describe, expect, test } from 'vitest';
import { settings } from '../../bin/settings.ts';
import { checkSettings, SettingsError } from '../../lib/infra/check-settings.ts';
import type { Settings } from '../../lib/infra/settings.ts';
import { addStacks } from '../../lib/infra/stacks.ts';

const root = join(import.meta.dirname, '../..');
const { context } = JSON.parse(readFileSync(join(root, 'cdk.json'), 'utf8'));

/** An app with this repository's feature flags that bundles nothing. */
const outdir = mkdtempSync(join(tmpdir(), 'data-out-'));
const app = () => new App({ outdir, context: { ...context, 'aws:cdk:bundling-stacks': [] } });
afterAll(() => rmSync(outdir, { recursive: true }));

describe('settings', () => {
  test('that the repository ships are accepted', () => {
    expect(() => checkSettings(settings)).not.toThrow();
  });

  const database = { clusterArn: 'x', secretArn: 'y', databaseName: 'drop table' };
  const wrong: readonly (readonly [string, Partial<Settings>])[] = [
    ['stage', { stage: 'Prod_1' }],
    ['target.region', { target: { account: '123456789012', region: 'stockholm' } }],
    ['target.account', { target: { account: '12', region: 'eu-north-1' } }],
    ['archiveKind', { archiveKind: 'fega/x' }],
    ['archiveCredentials', { archiveCredentials: 'never' as 'required' }],
    ['outboxExpiryDays', { outboxExpiryDays: 0 }],
    ['urlLifetimeSeconds', { urlLifetimeSeconds: 604_800 }],
    ['retryDelaysSeconds', { retryDelaysSeconds: [] }],
    ['retryDelaysSeconds[1]', { retryDelaysSeconds: [10, 0.5] }],
    ['throttling.burst', { throttling: { requestsPerSecond: 1, burst: 5001 } }],
    ['concurrency.fileExports', { concurrency: { exportRequests: 2, fileExports: 1 } }],
    ['database.minCapacity', { database: { minCapacity: 0.3, maxCapacity: 1, backupDays: 1 } }],
    ['database.maxCapacity', { database: { minCapacity: 4, maxCapacity: 2, backupDays: 1 } }],
    ['database.clusterArn', { database }],
    ['database.secretArn', { database }],
    ['database.databaseName', { database }],
    ['archiveBucket.bucketName', { archiveBucket: { bucketName: 'No' } }],
    [
      'archiveKeysSecret.secretArn',
      { archiveKeysSecret: { secretArn: 'arn:aws:secretsmanager:eu-north-1:1:secret:x' } },
    ],
    ['alarmEmail', { alarmEmail: 'nobody' }],
    ['logRetentionDays', { logRetentionDays: 91 }],
    ['apiGatewayLogRole', { apiGatewayLogRole: 'mine' as 'create' }],
    ['bucketLogRetentionDays', { bucketLogRetentionDays: 0 }],
    ['service.organizationUrl', { service: { ...settings.service, organizationUrl: 'http://example.org' } }],
  ];
  test.each(wrong)('with an impossible %s are refused by that name', (field, change) => {
    const check = () => checkSettings({ ...settings, ...change });
    expect(check).toThrow(SettingsError);
    expect(check).toThrow(`${field}: expected`);
  });

  test('that are wrong in several places are refused at once for all of them', () => {
    const check = () => checkSettings({ ...settings, archiveKind: '', outboxExpiryDays: -1 });
    expect(check).toThrow(/archiveKind: [\s\S]*outboxExpiryDays: /);
  });
});

const account = '123456789012';
const existing = {
  stage: 'test',
  target: { account, region: 'eu-north-1' },
  archiveBucket: { bucketName: 'the-archive', keyArn: `arn:aws:kms:eu-north-1:${account}:key/bodies` },
  archiveKeysSecret: { secretArn: `arn:aws:secretsmanager:eu-north-1:${account}:secret:keys-AbCdEf` },
  database: {
    clusterArn: `arn:aws:rds:eu-north-1:${account}:cluster:lega`,
    secretArn: `arn:aws:secretsmanager:eu-north-1:${account}:secret:db-AbCdEf`,
    databaseName: 'lega',
  },
  alarmEmail: 'operators@example.org',
  apiGatewayLogRole: 'present',
} satisfies Partial<Settings>;

describe('an operator who has an archive already', () => {
  const { storage, service } = addStacks(app(), { ...settings, ...existing });
  const stored = Template.fromStack(storage);
  const served = Template.fromStack(service);

  test('gets no second one', () => {
    stored.resourceCountIs('AWS::S3::Bucket', 2);
    stored.resourceCountIs('AWS::RDS::DBCluster', 0);
    stored.resourceCountIs('AWS::EC2::VPC', 0);
    stored.resourceCountIs('AWS::SecretsManager::Secret', 1);
    stored.hasOutput('ArchiveBucketName', { Value: 'the-archive' });
    stored.hasOutput('ArchiveKeysSecretArn', { Value: existing.archiveKeysSecret.secretArn });
    stored.hasOutput('DatabaseClusterArn', { Value: existing.database.clusterArn });
    stored.hasOutput('DatabaseName', { Value: 'lega' });
  });

  test('sees the functions work with it', () => {
    const policies = Object.values(served.findResources('AWS::IAM::Policy'));
    const staging = policies.find(({ Properties }) => /StageFile/.test(Properties.PolicyName))?.Properties;
    const text = JSON.stringify(staging);
    expect(text).toContain(existing.archiveBucket.keyArn);
    expect(text).toContain(existing.archiveKeysSecret.secretArn);
    expect(text).toContain(existing.database.clusterArn);
    expect(text).toContain(':s3:::the-archive/*');
    served.hasResourceProperties('AWS::Lambda::Function', {
      Environment: { Variables: { ARCHIVE_BUCKET: 'the-archive', DATABASE_NAME: 'lega' } },
    });
  });

  test('keeps the role that the account has for API Gateway’s logs', () => {
    served.resourceCountIs('AWS::ApiGateway::Account', 0);
  });

  test('is told by e-mail', () => {
    served.hasResourceProperties('AWS::SNS::Subscription', { Protocol: 'email', Endpoint: 'operators@example.org' });
    const alarms = Object.values(served.findResources('AWS::CloudWatch::Alarm'));
    for (const { Properties } of alarms) expect(Properties.AlarmActions).toHaveLength(1);
  });

  test('has stacks of the stage’s name', () => {
    expect([storage.stackName, service.stackName]).toEqual(['DataOutStorage-test', 'DataOutService-test']);
  });
});

describe('the security rules', () => {
  test('accept every kind of settings', () => {
    const checked = app();
    Validations.of(checked).addPlugins(new AwsSolutionsChecks(checked));
    addStacks(checked, { ...settings, ...existing });
    const { target, ...anywhere } = existing;
    expect(target.region).toBe('eu-north-1');
    addStacks(checked, { ...settings, ...anywhere, stage: 'anywhere', apiGatewayLogRole: 'create' });
    expect(() => checked.synth()).not.toThrow();
  });

  test('are in force where the stacks are deployed from, and do find what is wrong', () => {
    expect(readFileSync(join(root, 'bin/app.ts'), 'utf8')).toContain('addPlugins(new AwsSolutionsChecks(app))');
    const checked = app();
    Validations.of(checked).addPlugins(new AwsSolutionsChecks(checked));
    new Bucket(addStacks(checked, settings).service, 'Careless');
    expect(() => checked.synth()).toThrow();
  });
});
