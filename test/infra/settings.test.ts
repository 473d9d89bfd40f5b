import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Match, type Template } from 'aws-cdk-lib/assertions';
import { afterAll, describe, expect, test } from 'vitest';
import { settings } from '../../bin/settings.ts';
import type { Settings } from '../../lib/infra/settings.ts';
import { addStacks } from '../../lib/infra/stacks.ts';
import { templateApp } from '../../lib/infra/templates.ts';
import { account, existing } from '../helpers/settings.ts';
import { templatesOf } from '../helpers/synthesized.ts';

const outdir = mkdtempSync(join(tmpdir(), 'data-out-'));
const app = () => templateApp({ outdir });
afterAll(() => rmSync(outdir, { recursive: true }));

describe('an operator who has an archive already', () => {
  const { stored, served } = templatesOf({ ...settings, ...existing });

  test('gets no second one', () => {
    stored.resourceCountIs('AWS::S3::Bucket', 2);
    stored.resourceCountIs('AWS::RDS::DBCluster', 0);
    stored.resourceCountIs('AWS::EC2::VPC', 0);
    // Only this service's own: administrators, the deny list, and the four roles of the database.
    stored.resourceCountIs('AWS::SecretsManager::Secret', 6);
    stored.hasOutput('ArchiveBucketName', { Value: 'the-archive' });
    stored.hasOutput('ArchiveKeysSecretArn', { Value: existing.archiveKeysSecret.secretArn });
    stored.hasOutput('DatabaseClusterArn', { Value: existing.database.clusterArn });
    stored.hasOutput('DatabaseName', { Value: 'lega' });
    stored.hasOutput('DatasetIdPattern', { Value: '^set-[0-9]+$' });
    stored.hasOutput('FileIdPattern', { Value: '^EGAF\\d{1,11}$' });
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
      Environment: { Variables: { ARCHIVE_BUCKETS: 'the-archive', DATABASE_NAME: 'lega' } },
    });
  });

  test('in several buckets sees the functions work with each, and the key of each for S3 only', () => {
    const keyArn = `arn:aws:kms:eu-north-1:${account}:key/two`;
    const otherArchiveBuckets = [{ bucketName: 'archive-2', keyArn }, { bucketName: 'archive-3' }];
    const template = templatesOf({ ...settings, ...existing, otherArchiveBuckets }).served;
    const statementsOf = (name: string) => {
      const policies = Object.values(template.findResources('AWS::IAM::Policy'));
      const policy = policies.find(({ Properties }) => Properties.PolicyName.includes(`Functions${name}`));
      return policy?.Properties.PolicyDocument.Statement as readonly {
        Resource: string | string[];
        Condition?: object;
      }[];
    };
    const conditionsOfKey = (name: string) =>
      statementsOf(name).flatMap(({ Resource, Condition }) => ([Resource].flat().includes(keyArn) ? [Condition] : []));
    const throughS3 = { StringEquals: { 'kms:ViaService': 's3.eu-north-1.amazonaws.com' } };
    for (const name of ['StageFile', 'DirectFile', 'Htsget']) expect(conditionsOfKey(name)).toEqual([throughS3]);
    for (const name of ['StageFile', 'DirectFile', 'Htsget']) {
      for (const bucket of ['the-archive', 'archive-2', 'archive-3']) {
        expect(JSON.stringify(statementsOf(name))).toContain(`:s3:::${bucket}/*`);
      }
    }
    const named = Object.values(template.findResources('AWS::Lambda::Function'))
      .map(({ Properties }) => Properties.Environment?.Variables.ARCHIVE_BUCKETS)
      .filter((value) => value !== undefined);
    expect(named).toEqual(Array(3).fill('the-archive,archive-2,archive-3'));
  });

  test('gets a secret for each role of the database, and only the migration reads that of the owner', () => {
    stored.resourcePropertiesCountIs('AWS::SecretsManager::Secret', { GenerateSecretString: Match.anyValue() }, 4);
    const policies = Object.values(served.findResources('AWS::IAM::Policy'));
    const named = policies.filter(({ Properties }) => JSON.stringify(Properties).includes(existing.database.secretArn));
    expect(named.map(({ Properties }) => Properties.PolicyName)).toEqual([expect.stringContaining('FunctionsMigrate')]);
    for (const role of ['PROXY', 'AUDITOR', 'READER', 'WORKER']) {
      expect(JSON.stringify(served.toJSON())).toContain(`DATABASE_${role}_SECRET_ARN`);
    }
  });

  test('decides alone about the protection of the cluster', () => {
    const { Properties } =
      Object.values(served.findResources('AWS::IAM::Policy')).find(({ Properties }) =>
        Properties.PolicyName.includes('FunctionsProtect'),
      ) ?? {};
    const actions = Properties?.PolicyDocument.Statement.flatMap(({ Action }: { Action: string | string[] }) => Action);
    expect(actions.filter((action: string) => !/^(logs|xray):/.test(action))).toEqual([
      'cloudformation:UpdateTerminationProtection',
    ]);
    const [target] = Object.values(
      served.findResources('AWS::Lambda::Function', {
        Properties: { Description: Match.stringLikeRegexp('^Protects') },
      }),
    );
    expect(target?.Properties.Environment.Variables).not.toHaveProperty('DATABASE_CLUSTER_ARN');
  });

  test('keeps the role that the account has for API Gateway’s logs', () => {
    served.resourceCountIs('AWS::ApiGateway::Account', 0);
  });

  test('is told by e-mail', () => {
    served.hasResourceProperties('AWS::SNS::Subscription', { Protocol: 'email', Endpoint: 'operators@example.org' });
    const alarms = Object.values(served.findResources('AWS::CloudWatch::Alarm'));
    for (const { Properties } of alarms) expect(Properties.AlarmActions).toHaveLength(1);
    expect(
      Object.values(served.findResources('AWS::ApiGateway::RestApi')).map(({ Properties }) => Properties.Name),
    ).toEqual(['DataOutService-test-Proxy', 'DataOutService-test-DataOut']);
  });

  test('streams no more direct files, and parts of htsget, at once than it says', () => {
    const limited = Object.values(served.findResources('AWS::Lambda::Function')).flatMap(({ Properties }) =>
      'ReservedConcurrentExecutions' in Properties
        ? [[Properties.Description, Properties.ReservedConcurrentExecutions]]
        : [],
    );
    expect(limited.toSorted()).toEqual([
      ['Serves a file, decrypted or for a key of the caller', 20],
      ['Serves regions of reads and variants by htsget', 20],
    ]);
  });

  test.each([
    ['the usual settings', {}, 100],
    ['directFiles off', { concurrency: { ...settings.concurrency, directFiles: 'off' } }, undefined],
    ['direct access off', { directAccess: 'off' }, undefined],
  ] as const)('reserves concurrency for direct files: %s', (_, change, reserved) => {
    const functions = Object.values(
      templatesOf({ ...settings, ...change }).served.findResources('AWS::Lambda::Function'),
    );
    const found = functions.flatMap(({ Properties }) => Properties.ReservedConcurrentExecutions ?? []);
    expect(found).toEqual(reserved === undefined ? [] : [reserved, reserved]);
  });

  test('has stacks of the stage’s name', () => {
    const { storage, service } = addStacks(app(), { ...settings, ...existing });
    expect([storage.stackName, service.stackName]).toEqual(['DataOutStorage-test', 'DataOutService-test']);
  });
});

describe('what was made new and is later named as existing', () => {
  const { target, ...elsewhere } = existing;
  expect(target.account).toBe(account);
  const templates = ([{ stage: 'test' }, elsewhere, existing] as const).map((change) => {
    const { storage, service } = addStacks(app(), { ...settings, ...change });
    expect(service.dependencies).toEqual([storage]);
    const { stored, served } = templatesOf({ ...settings, ...change });
    return { storage: stored.toJSON(), service: served.toJSON() };
  });

  test.each(templates)('can be left out of the stack: no other stack holds on to its outputs (%#)', (stacks) => {
    for (const template of Object.values(stacks)) {
      expect(JSON.stringify(template)).not.toMatch(/"(Fn::ImportValue|Export)"/);
    }
    const text = JSON.stringify(stacks.service);
    const wanted = [...text.matchAll(/"Fn::GetStackOutput":(\{.*?"OutputName":"(\w+)"\})/g)];
    expect(wanted.length).toBeGreaterThan(5);
    for (const [, argument = '', output] of wanted) {
      expect(JSON.parse(argument)).toMatchObject({ StackName: 'DataOutStorage-test' });
      expect(argument).not.toContain('RoleArn');
      expect(stacks.storage.Outputs).toHaveProperty(output ?? '');
    }
  });

  test('is no longer required, so that its outputs can go before the service stack changes', () => {
    const [made, named] = templates.map(({ storage }) => Object.keys(storage.Outputs));
    const gone = made?.filter((output) => !named?.includes(output));
    expect(gone).toEqual(expect.arrayContaining(['ArchiveBucketArn']));
    for (const output of gone ?? []) expect(JSON.stringify(templates[1]?.service)).not.toContain(`"${output}"`);
  });
});

describe('the page for administrators', () => {
  const served = (change: Partial<Settings>) => templatesOf({ ...settings, ...change }).served;
  const routesOf = (template: Template) =>
    Object.values(template.findResources('AWS::ApiGateway::Resource')).map(({ Properties }) => Properties.PathPart);
  const functionsOf = (template: Template) => Object.keys(template.findResources('AWS::Lambda::Function'));

  test('is not deployed by default: there is no function and no route', () => {
    const { adminPage: _, ...others } = settings;
    for (const template of [served({}), templatesOf(others).served]) {
      expect(routesOf(template)).not.toContain('admin');
      expect(functionsOf(template).filter((id) => id.includes('AdminPage'))).toEqual([]);
      expect(JSON.stringify(template.toJSON())).not.toMatch(/AdminPage|~1admin/);
    }
  });

  test('is a function and a route if the operator says so', () => {
    const template = served({ adminPage: true });
    expect(routesOf(template)).toContain('admin');
    template.hasResourceProperties('AWS::Lambda::Function', {
      Description: 'Serves the page for administrators',
      MemorySize: 256,
      Environment: { Variables: { ARCHIVE_KIND: 'fega' } },
    });
  });
});

describe('containers of deprecated datasets', () => {
  const { withdrawal: _, ...others } = settings;
  const served = (change: Partial<Settings>) => templatesOf({ ...others, ...change }).served;
  const withdrawing = (template: Template) => {
    const made = Object.entries(template.toJSON().Resources).filter(([id]) => /Withdraw/.test(id));
    const statements: { Action: string | string[]; Resource: unknown }[] = made
      .flatMap(([, resource]) => (resource as { Properties: { PolicyDocument?: { Statement: [] } } }).Properties)
      .flatMap(({ PolicyDocument }) => PolicyDocument?.Statement ?? []);
    const onKeys = (action: string) =>
      statements
        .filter(({ Action }) => [Action].flat().includes(action))
        .flatMap(({ Resource }) => [Resource].flat())
        .map((resource) => /(\/[?]{64}\/\*|\/direct\/\*)"\]\]\}$/.exec(JSON.stringify(resource))?.[1] ?? 'the bucket');
    const actions = statements.flatMap(({ Action }) => Action).filter((action) => /^(s3|kms):/.test(action));
    return { ids: made.map(([id]) => id), actions: [...new Set(actions)].sort(), onKeys };
  };

  test.each([{}, { withdrawal: 'report' }] as const)(
    'are counted, by a function that can delete nothing (%j)',
    (change) => {
      const { actions } = withdrawing(served(change));
      expect(actions).toEqual(['kms:Decrypt', 's3:GetObject', 's3:ListBucket']);
    },
  );

  test('are deleted if the operator says so, by a function that can write and read none', () => {
    const { actions, onKeys } = withdrawing(served({ withdrawal: 'purge' }));
    expect(actions).toEqual(['kms:Decrypt', 's3:DeleteObject', 's3:GetObject', 's3:ListBucket']);
    const ofRecipients = `/${'?'.repeat(64)}/*`;
    expect(onKeys('s3:DeleteObject').sort()).toEqual([ofRecipients, '/direct/*'].sort());
    const template = served({ withdrawal: 'purge' });
    template.hasResourceProperties('AWS::Lambda::Function', { Environment: { Variables: { WITHDRAWAL: 'purge' } } });
  });

  test('are left to their expiry without a function, a schedule or an alarm', () => {
    expect(withdrawing(served({ withdrawal: 'off' })).ids).toEqual([]);
  });
});

describe('a quota of the outbox', () => {
  const served = (change: Partial<Settings>) => templatesOf({ ...settings, ...change }).served;
  const limited = (template: Template) =>
    Object.values(template.findResources('AWS::Lambda::Function'))
      .filter(({ Properties }) => Properties.Environment?.Variables.OUTBOX_QUOTA_GIB)
      .map(({ Properties }) => ({ of: Properties.Description, ...Properties.Environment.Variables }));
  test('is known to the function that decides on requests, with the days of a container', () => {
    const template = served({ outboxQuotaGib: 500, outboxExpiryDays: 14 });
    expect(limited(template)).toEqual([
      expect.objectContaining({
        of: 'Decides on an export request and sends its files to be staged',
        OUTBOX_QUOTA_GIB: '500',
        OUTBOX_EXPIRY_DAYS: '14',
      }),
    ]);
  });

  test('is missing by default', () => {
    const template = served({});
    expect(limited(template)).toEqual([]);
  });
});

test('logs outlive the service stack', () => {
  const groups = Object.values(templatesOf(settings).served.findResources('AWS::Logs::LogGroup'));
  expect(groups.length).toBeGreaterThan(15);
  for (const { Properties, DeletionPolicy } of groups) {
    expect(DeletionPolicy).toBe('Retain');
    // A group that was kept would be in the way of another one of its name.
    expect(Properties).not.toHaveProperty('LogGroupName');
  }
});

describe('events for operators', () => {
  const served = (change: Partial<Settings>) => templatesOf({ ...settings, ...change }).served;
  const sendersOf = (template: Template) =>
    Object.values(template.findResources('AWS::IAM::Policy')).flatMap(({ Properties }) =>
      Properties.PolicyDocument.Statement.filter(({ Action }: { Action: unknown }) =>
        JSON.stringify(Action).includes('events:'),
      ).map((statement: object) => ({ name: Properties.PolicyName.replace(/Role.*$/, ''), ...statement })),
    );
  const busesOf = (template: Template) =>
    Object.entries(template.findResources('AWS::Lambda::Function')).flatMap(([id, { Properties }]) => {
      const bus = Properties.Environment?.Variables.EVENT_BUS_ARN;
      return bus === undefined ? [] : [[id.replace(/[0-9A-F]{8}$/, ''), bus]];
    });
  const bus = {
    'Fn::Join': [
      '',
      ['arn:', { Ref: 'AWS::Partition' }, ':events:', { Ref: 'AWS::Region' }, ':', { Ref: 'AWS::AccountId' }].concat(
        ':event-bus/default',
      ),
    ],
  };

  test.each([{}, { events: 'off' }] as const)('are off: no function may send one or knows a bus (%j)', (change) => {
    const template = served(change);
    expect([sendersOf(template), busesOf(template)]).toEqual([[], []]);
  });

  test('are on: the functions that send them may send theirs, of our source, to the default bus', () => {
    const template = served({ events: 'on' });
    const theirs = (...types: string[]) => ({
      Effect: 'Allow',
      Action: 'events:PutEvents',
      Resource: bus,
      Condition: {
        'ForAllValues:StringEquals': {
          'events:source': 'data-out',
          'events:detail-type': types,
        },
      },
    });
    expect(sendersOf(template)).toEqual([
      { name: 'FunctionsConsumeExport', ...theirs('Export Accepted', 'Export Rejected') },
      { name: 'FunctionsRecordDeadLetters', ...theirs('Export Rejected') },
      { name: 'FunctionsSettleDelivery', ...theirs('Delivery Settled') },
    ]);
    expect(busesOf(template)).toEqual([
      ['FunctionsConsumeExportFunction', bus],
      ['FunctionsRecordDeadLettersFunction', bus],
      ['FunctionsSettleDeliveryFunction', bus],
    ]);
  });
});

describe('delivery receipts', () => {
  const templates = (given: Partial<Settings>) => templatesOf({ ...settings, ...given });
  const signingKeys = ({ stored }: ReturnType<typeof templates>) =>
    Object.values(stored.findResources('AWS::KMS::Key', { Properties: { KeyUsage: 'SIGN_VERIFY' } }));
  const policyOf = ({ served }: ReturnType<typeof templates>, name: string): string => {
    const policies = Object.values(served.findResources('AWS::IAM::Policy'));
    return JSON.stringify(policies.find(({ Properties }) => Properties.PolicyName.includes(`Functions${name}`)));
  };

  test('are signed by keys that endorse each other; the public parts of all are served, and all are retained', () => {
    const rotated = templates({ receiptKeys: 3 });
    expect(signingKeys(rotated)).toHaveLength(3);
    for (const key of signingKeys(rotated)) expect(key).toMatchObject({ DeletionPolicy: 'RetainExceptOnCreate' });
    const named = (text: string) => [...new Set(text.match(/ReceiptKeysKey\d/g))].sort();
    for (const name of ['SettleDelivery', 'Jwks']) {
      expect(named(policyOf(rotated, name))).toEqual(['ReceiptKeysKey1', 'ReceiptKeysKey2', 'ReceiptKeysKey3']);
    }
  });

  test('can be switched off: nothing may sign or write one, and earlier ones can still be checked', () => {
    const off = templates({ deliveryReceipt: false });
    for (const right of ['kms:Sign', 's3:']) expect(policyOf(off, 'SettleDelivery')).not.toContain(right);
    expect(policyOf(off, 'Jwks')).toContain('kms:GetPublicKey');
    const told = Object.entries(off.served.findResources('AWS::Lambda::Function')).filter(
      ([, { Properties }]) => 'RECEIPT_KEY_ARNS' in (Properties.Environment?.Variables ?? {}),
    );
    expect(told.map(([id]) => id)).toEqual([expect.stringContaining('Jwks')]);
  });
});

describe('days to keep the audit trail', () => {
  const functionsOf = (given: Settings) => {
    const template = templatesOf(given).served;
    const functions = Object.entries(template.findResources('AWS::Lambda::Function'));
    const told = functions.filter(
      ([, { Properties }]) => Properties.Environment?.Variables?.AUDIT_RETENTION_DAYS === '60',
    );
    return told.map(([id]) => id.replace(/^Functions|Function[0-9A-F]{8}$/g, '')).sort();
  };

  test('are told to the migration, which writes them into the database', () => {
    expect(functionsOf({ ...settings, auditRetentionDays: 60 })).toEqual(['Migrate']);
    expect(functionsOf(settings)).toEqual([]);
  });
});
