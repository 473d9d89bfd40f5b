import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, Validations } from 'aws-cdk-lib';
import { Match, Template } from 'aws-cdk-lib/assertions';
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
    ['throttling.burst', { throttling: { ...settings.throttling, burst: 5001 } }],
    [
      'throttling.export.requestsPerSecond',
      { throttling: { ...settings.throttling, export: { requestsPerSecond: 0, burst: 10 } } },
    ],
    ['concurrency.fileExports', { concurrency: { exportRequests: 2, fileExports: 1 } }],
    ['concurrency.directFiles', { concurrency: { exportRequests: 2, fileExports: 2, directFiles: 0 } }],
    ['database.minCapacity', { database: { minCapacity: 0.3, maxCapacity: 1, backupDays: 1 } }],
    ['database.maxCapacity', { database: { minCapacity: 4, maxCapacity: 2, backupDays: 1 } }],
    ['database.clusterArn', { database }],
    ['database.secretArn', { database }],
    ['database.databaseName', { database }],
    ['database.proxySecretArn', { database: { ...database, proxySecretArn: 'z' } }],
    ['database.readerSecretArn', { database: { ...database, readerSecretArn: database.secretArn } }],
    ['database.readerSecretKeyArn', { database: { ...database, readerSecretArn: 'z', readerSecretKeyArn: 'k' } }],
    ['database.proxySecretArn', { database: { ...database, proxySecretArn: database.secretArn } }],
    ['database.proxySecretKeyArn', { database: { ...database, proxySecretArn: 'z', proxySecretKeyArn: 'k' } }],
    [
      'database.proxySecretKeyArn',
      { database: { ...database, proxySecretKeyArn: 'arn:aws:kms:eu-north-1:123456789012:key/k' } },
    ],
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
  concurrency: { ...settings.concurrency, directFiles: 20 },
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

  describe('and the database secret of list and stream', () => {
    const secretsOf = (template: Template, name: string) => {
      const policies = Object.values(template.findResources('AWS::IAM::Policy'));
      const policy = policies.find(({ Properties }) => Properties.PolicyName.includes(`Functions${name}`));
      return JSON.stringify(policy?.Properties).match(/secret:[a-z]+-AbCdEf/g);
    };

    test('is one that the operator gives beside it', () => {
      const proxySecretArn = `arn:aws:secretsmanager:eu-north-1:${account}:secret:proxy-AbCdEf`;
      const proxySecretKeyArn = `arn:aws:kms:eu-north-1:${account}:key/proxy`;
      const readerSecretArn = `arn:aws:secretsmanager:eu-north-1:${account}:secret:reader-AbCdEf`;
      const database = { ...existing.database, proxySecretArn, proxySecretKeyArn, readerSecretArn };
      const template = Template.fromStack(addStacks(app(), { ...settings, ...existing, database }).service);
      expect(secretsOf(template, 'AuthorizeOutbox')).toEqual(['secret:proxy-AbCdEf']);
      expect(secretsOf(template, 'ConsumeExport')).toEqual(['secret:db-AbCdEf']);
      for (const name of ['Datasets', 'Drs']) expect(secretsOf(template, name)).toContain('secret:reader-AbCdEf');
      expect(secretsOf(template, 'Migrate')?.sort()).toEqual([
        'secret:db-AbCdEf',
        'secret:proxy-AbCdEf',
        'secret:reader-AbCdEf',
      ]);
      template.hasResourceProperties('AWS::Lambda::Function', {
        Environment: { Variables: { DATABASE_PROXY_SECRET_ARN: proxySecretArn } },
      });
      template.hasResourceProperties('AWS::IAM::Policy', {
        PolicyDocument: {
          Statement: Match.arrayWith([
            {
              Effect: 'Allow',
              Action: 'kms:Decrypt',
              Resource: proxySecretKeyArn,
              Condition: { StringEquals: { 'kms:ViaService': 'secretsmanager.eu-north-1.amazonaws.com' } },
            },
          ]),
        },
      });
    });

    test('is the only one there is otherwise, and the migration makes no role', () => {
      for (const name of ['AuthorizeOutbox', 'Datasets', 'Migrate'])
        expect(secretsOf(served, name)).toEqual(['secret:db-AbCdEf']);
      expect(JSON.stringify(served.toJSON())).not.toMatch(/DATABASE_(PROXY|READER)_SECRET_ARN/);
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

  test('streams no more direct files at once than it says', () => {
    served.hasResourceProperties('AWS::Lambda::Function', {
      Description: 'Serves a file, decrypted or for a key of the caller',
      ReservedConcurrentExecutions: 20,
    });
    const limited = Object.values(served.findResources('AWS::Lambda::Function')).filter(
      ({ Properties }) => 'ReservedConcurrentExecutions' in Properties,
    );
    expect(limited).toHaveLength(1);
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
