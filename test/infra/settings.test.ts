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
    ['database.workerSecretArn', { database: { ...database, workerSecretArn: database.secretArn } }],
    ['database.workerSecretKeyArn', { database: { ...database, workerSecretKeyArn: 'k' } }],
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
    ['logsOnDestroy', { logsOnDestroy: 'archive' as 'keep' }],
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

describe('settings of every kind', () => {
  const key = (name: string) => `arn:aws:kms:eu-north-1:${account}:key/${name}`;
  const secret = (name: string) => `arn:aws:secretsmanager:eu-north-1:${account}:secret:${name}-AbCdEf`;
  const complete = {
    ...settings,
    ...existing,
    otherArchiveBuckets: [{ bucketName: 'archive-2', keyArn: key('two') }, { bucketName: 'archive.3' }],
    archiveKeysSecret: { ...existing.archiveKeysSecret, keyArn: key('keys') },
    database: {
      ...existing.database,
      secretKeyArn: key('db'),
      proxySecretArn: secret('proxy'),
      proxySecretKeyArn: key('proxy'),
      readerSecretArn: secret('reader'),
      readerSecretKeyArn: key('reader'),
    },
  };
  const without = { ...settings, database: { minCapacity: 0, maxCapacity: 1.5, backupDays: 35 } };
  /** The settings with one value replaced, or taken away when it is `undefined`. */
  const changed = (value: unknown, path: readonly (string | number)[], to: unknown): unknown => {
    const [head, ...rest] = path;
    if (head === undefined) return to;
    const inner = (value as Record<string | number, unknown>)[head];
    const next = changed(inner, rest, to);
    if (Array.isArray(value)) return value.with(Number(head), next);
    const { [head]: _, ...others } = value as Record<string | number, unknown>;
    return next === undefined ? others : { ...others, [head]: next };
  };
  const paths = (value: unknown, path: readonly (string | number)[] = []): (string | number)[][] => {
    if (typeof value !== 'object' || value === null) return [[...path]];
    const inner = Object.entries(value).flatMap(([name, one]) =>
      paths(one, [...path, Array.isArray(value) ? Number(name) : name]),
    );
    return path.length > 0 ? [[...path], ...inner] : inner;
  };
  const all = (given: object) =>
    paths(given).map((path) => {
      const name = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${part}`)).join('');
      return { given, path, name: name.slice(1) };
    });
  const faults = (given: unknown): readonly string[] => {
    try {
      checkSettings(given as Settings);
      return [];
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error;
      return error.message
        .split('\n')
        .slice(1)
        .map((line) => line.trim());
    }
  };
  const fields = [...all(complete), ...all(without).filter(({ name }) => name.startsWith('database.'))];

  test('are accepted', () => {
    expect([faults(complete), faults(without)]).toEqual([[], []]);
    expect(fields.map(({ name }) => name)).toContain('otherArchiveBuckets[1].bucketName');
  });

  test.each(fields)(
    'are refused by the name of the field, and by no other, when $name has a wrong type',
    ({ given, path, name }) => {
      for (const wrong of [true, null, 7n]) {
        const found = faults(changed(given, path, wrong));
        expect(found.length).toBeGreaterThan(0);
        for (const fault of found) expect(fault.startsWith(`${name}: expected `)).toBe(true);
      }
    },
  );

  test.each(fields.filter(({ path }) => typeof path.at(-1) === 'string'))(
    'are accepted or refused by its name when $name is left out',
    ({ given, path, name }) => {
      const optional =
        /^(stage|target|archiveBucket|otherArchiveBuckets|archiveKeysSecret|alarmEmail|logsOnDestroy|concurrency\.directFiles)$|[kK]eyArn$/;
      const found = faults(changed(given, path, undefined));
      if (optional.test(name)) return void expect(found).toEqual([]);
      // A key without its secret is a fault of the key; without an ARN the cluster would be a new one.
      const [first = ''] = found;
      const role = /^database\.(proxy|reader|worker)SecretArn$/.exec(name)?.[1];
      if (role) expect(found).toEqual([`database.${role}SecretKeyArn: expected ${name} beside it`]);
      else if (name === 'database.clusterArn')
        expect(found).toContain('database.backupDays: expected a whole number from 1 to 35');
      else expect(first.startsWith(`${name}: expected `)).toBe(true);
    },
  );

  test.each([
    [[], 'alarmMail'],
    [['target'], 'profile'],
    [['throttling'], 'rate'],
    [['throttling', 'export'], 'rate'],
    [['concurrency'], 'direct'],
    [['database'], 'clusterArnn'],
    [['archiveBucket'], 'region'],
    [['otherArchiveBuckets', 1], 'key'],
    [['archiveKeysSecret'], 'arn'],
    [['service'], 'name'],
  ])('are refused for a field below %j that does not exist', (path, name) => {
    const given = changed(complete, [...path, name], 'x');
    const [fault, ...others] = faults(given);
    expect(others).toEqual([]);
    expect(fault).toMatch(new RegExp(`${name}: expected no such field$`));
  });

  test.each(['target', ...fields.map(({ name }) => name).filter((name) => /Arn$/.test(name))])(
    'are refused when %s is of another region or account',
    (name) => {
      const [path] = fields.filter((field) => field.name === name).map((field) => field.path);
      const value = path?.reduce<unknown>((inner, part) => (inner as Record<string | number, unknown>)[part], complete);
      for (const [from, to] of [
        ['eu-north-1', 'eu-west-1'],
        [account, '210987654321'],
      ] as const) {
        const other = JSON.parse(JSON.stringify(value).replace(from, to));
        const found = faults(changed(complete, path ?? [], other));
        // All ARNs are elsewhere than the target then.
        if (name === 'target') expect(found).toHaveLength(fields.filter((field) => /Arn$/.test(field.name)).length);
        else expect(found).toEqual([`${name}: expected region eu-north-1 and account ${account}, those of target`]);
      }
    },
  );

  test('are refused when their ARNs do not agree, also without a target', () => {
    const { target: _, ...anywhere } = complete;
    expect(faults(anywhere)).toEqual([]);
    const given = changed(anywhere, ['otherArchiveBuckets', 0, 'keyArn'], key('two').replace('north', 'west'));
    const place = `region eu-north-1 and account ${account}, those of database.clusterArn`;
    expect(faults(given)).toEqual([`otherArchiveBuckets[0].keyArn: expected ${place}`]);
  });

  const secrets = [
    'database.secretArn',
    'database.proxySecretArn',
    'database.readerSecretArn',
    'archiveKeysSecret.secretArn',
  ];
  test.each(secrets.flatMap((one) => secrets.filter((other) => other !== one).map((other) => [one, other])))(
    'are refused when %s is also %s',
    (one = '', other = '') => {
      const given = changed(complete, other.split('.'), secret('same'));
      const [fault, ...others] = faults(changed(given, one.split('.'), secret('same')));
      expect(others).toEqual([]);
      expect([
        `${one}: expected another secret than ${other}`,
        `${other}: expected another secret than ${one}`,
      ]).toContain(fault);
    },
  );

  test('are refused when a bucket is named twice', () => {
    const given = changed(complete, ['otherArchiveBuckets', 1, 'bucketName'], 'the-archive');
    const [fault] = faults(given);
    expect(fault).toMatch(/rchiveBuckets?(\[1\])?\.bucketName: expected another bucket than /);
  });

  // S3 user guide, general purpose bucket naming rules.
  test.each([
    'ab',
    'a'.repeat(64),
    'Upper',
    'under_score',
    '-dash',
    'dot.',
    'two..dots',
    '192.168.5.4',
    'xn--archive',
    'sthree-archive',
    'sthree-configurator',
    'amzn-s3-demo-bucket',
    'archive-s3alias',
    'archive--ol-s3',
    'archive.mrap',
    'archive--x-s3',
    'archive--table-s3',
  ])('are refused for a bucket %s, whose name S3 does not allow', (name) => {
    for (const path of [['archiveBucket'], ['otherArchiveBuckets', 0]]) {
      const [fault, ...others] = faults(changed(complete, [...path, 'bucketName'], name));
      expect(others).toEqual([]);
      expect(fault).toMatch(/\.bucketName: expected the name of a bucket: /);
    }
  });

  test.each(['abc', 'a'.repeat(63), 'my.archive-2', '1-2-3', '1.2.3', 'archive-x-s3'])(
    'are accepted for a bucket %s',
    (name) => {
      expect(faults(changed(complete, ['archiveBucket', 'bucketName'], name))).toEqual([]);
    },
  );
});

describe('an operator who has an archive already', () => {
  const { storage, service } = addStacks(app(), { ...settings, ...existing });
  const stored = Template.fromStack(storage);
  const served = Template.fromStack(service);

  test('gets no second one', () => {
    stored.resourceCountIs('AWS::S3::Bucket', 2);
    stored.resourceCountIs('AWS::RDS::DBCluster', 0);
    stored.resourceCountIs('AWS::EC2::VPC', 0);
    // Those of this service alone: administrators, and the deny list.
    stored.resourceCountIs('AWS::SecretsManager::Secret', 2);
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
      Environment: { Variables: { ARCHIVE_BUCKETS: 'the-archive', DATABASE_NAME: 'lega' } },
    });
  });

  test('in several buckets sees the functions work with each, and the key of each for S3 only', () => {
    const keyArn = `arn:aws:kms:eu-north-1:${account}:key/two`;
    const otherArchiveBuckets = [{ bucketName: 'archive-2', keyArn }, { bucketName: 'archive-3' }];
    const template = Template.fromStack(addStacks(app(), { ...settings, ...existing, otherArchiveBuckets }).service);
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
    for (const name of ['StageFile', 'DirectFile']) expect(conditionsOfKey(name)).toEqual([throughS3]);
    expect(conditionsOfKey('DescribeFile')).toEqual([]);
    for (const name of ['StageFile', 'DirectFile', 'DescribeFile']) {
      for (const bucket of ['the-archive', 'archive-2', 'archive-3']) {
        expect(JSON.stringify(statementsOf(name))).toContain(`:s3:::${bucket}/*`);
      }
    }
    const named = Object.values(template.findResources('AWS::Lambda::Function'))
      .map(({ Properties }) => Properties.Environment?.Variables.ARCHIVE_BUCKETS)
      .filter((value) => value !== undefined);
    expect(named).toEqual(Array(3).fill('the-archive,archive-2,archive-3'));
  });

  describe('and the database secrets of the roles', () => {
    const secretsOf = (template: Template, name: string) => {
      const policies = Object.values(template.findResources('AWS::IAM::Policy'));
      const policy = policies.find(({ Properties }) => Properties.PolicyName.includes(`Functions${name}`));
      return JSON.stringify(policy?.Properties).match(/secret:[a-z]+-AbCdEf/g);
    };

    test('are those that the operator gives beside the owner’s', () => {
      const proxySecretArn = `arn:aws:secretsmanager:eu-north-1:${account}:secret:proxy-AbCdEf`;
      const proxySecretKeyArn = `arn:aws:kms:eu-north-1:${account}:key/proxy`;
      const readerSecretArn = `arn:aws:secretsmanager:eu-north-1:${account}:secret:reader-AbCdEf`;
      const workerSecretArn = `arn:aws:secretsmanager:eu-north-1:${account}:secret:worker-AbCdEf`;
      const roles = { proxySecretArn, proxySecretKeyArn, readerSecretArn, workerSecretArn };
      const database = { ...existing.database, ...roles };
      const template = Template.fromStack(addStacks(app(), { ...settings, ...existing, database }).service);
      expect(secretsOf(template, 'AuthorizeOutbox')).toEqual(['secret:proxy-AbCdEf']);
      expect(secretsOf(template, 'ConsumeExport')).toEqual(['secret:worker-AbCdEf']);
      expect(secretsOf(template, 'StageFile')?.sort()).toEqual(['secret:keys-AbCdEf', 'secret:worker-AbCdEf']);
      for (const name of ['Datasets', 'Drs']) expect(secretsOf(template, name)).toContain('secret:reader-AbCdEf');
      expect(secretsOf(template, 'Migrate')?.sort()).toEqual([
        'secret:db-AbCdEf',
        'secret:proxy-AbCdEf',
        'secret:reader-AbCdEf',
        'secret:worker-AbCdEf',
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

    test('are otherwise the owner’s, and the migration makes no role', () => {
      for (const name of ['AuthorizeOutbox', 'Datasets', 'ConsumeExport', 'Migrate'])
        expect(secretsOf(served, name)).toEqual(['secret:db-AbCdEf']);
      expect(JSON.stringify(served.toJSON())).not.toMatch(/DATABASE_(PROXY|READER|WORKER)_SECRET_ARN/);
    });
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

describe('what was made new and is later named as existing', () => {
  const { target, ...elsewhere } = existing;
  expect(target.account).toBe(account);
  const templates = ([{ stage: 'test' }, elsewhere, existing] as const).map((change) => {
    const { storage, service } = addStacks(app(), { ...settings, ...change });
    expect(service.dependencies).toEqual([storage]);
    return { storage: Template.fromStack(storage).toJSON(), service: Template.fromStack(service).toJSON() };
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

  test('is not asked for any more, so that its outputs may go before the service stack changes', () => {
    const [made, named] = templates.map(({ storage }) => Object.keys(storage.Outputs));
    const gone = made?.filter((output) => !named?.includes(output));
    expect(gone).toEqual(expect.arrayContaining(['ArchiveBucketArn']));
    for (const output of gone ?? []) expect(JSON.stringify(templates[1]?.service)).not.toContain(`"${output}"`);
  });
});

describe('logs', () => {
  const policiesOf = (change: Partial<Settings>) => {
    const { logsOnDestroy: _, ...others } = settings;
    const groups = Template.fromStack(addStacks(app(), { ...others, ...change }).service).findResources(
      'AWS::Logs::LogGroup',
    );
    // A group that was kept would be in the way of another one of its name.
    for (const { Properties } of Object.values(groups)) expect(Properties).not.toHaveProperty('LogGroupName');
    return Object.entries(groups).map(([id, { DeletionPolicy }]) => [id.replace(/[0-9A-F]{8}$/, ''), DeletionPolicy]);
  };

  test.each([{}, { logsOnDestroy: 'keep' }] as const)('outlive the service stack (%j)', (change) => {
    const policies = policiesOf(change);
    expect(policies.length).toBeGreaterThan(15);
    for (const policy of policies) expect(policy).toEqual([expect.any(String), 'Retain']);
  });

  test('go with it when the operator says so, but for those of what can roll a deployment back', () => {
    const policies = policiesOf({ logsOnDestroy: 'delete' });
    const kept = policies.filter(([, policy]) => policy !== 'Delete');
    expect(kept).toEqual([
      ['FunctionsMigrateLogs', 'Retain'],
      ['FunctionsProtectLogs', 'Retain'],
    ]);
    expect(policies).toContainEqual(['ProxyAccessLog', 'Delete']);
  });
});

describe('the security rules', () => {
  test('accept every kind of settings', () => {
    const checked = app();
    Validations.of(checked).addPlugins(new AwsSolutionsChecks(checked));
    addStacks(checked, { ...settings, ...existing, otherArchiveBuckets: [{ bucketName: 'archive-2' }] });
    const { target, ...anywhere } = existing;
    expect(target.region).toBe('eu-north-1');
    const others = { otherArchiveBuckets: [{ bucketName: 'archive-2' }], apiGatewayLogRole: 'create' } as const;
    addStacks(checked, { ...settings, ...anywhere, ...others, stage: 'anywhere' });
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
