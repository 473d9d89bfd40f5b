import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { describe, expect, test } from 'vitest';
import { settings } from '../../bin/settings.ts';
import { checkSettings, SettingsError } from '../../lib/infra/check-settings.ts';
import { type Settings, settingsSchema } from '../../lib/infra/settings.ts';
import { account, existing } from '../helpers/settings.ts';

test('the periods to keep logs are those of the CDK', () => {
  const isAccepted = (logRetentionDays: number) => settingsSchema.safeParse({ ...settings, logRetentionDays }).success;
  const days = Array.from({ length: 10_000 }, (_, day) => day);
  expect(days.filter(isAccepted)).toEqual(Object.values(RetentionDays).filter((value) => typeof value === 'number'));
});

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
    ['outboxExpiryDays', { outboxExpiryDays: 0 }],
    ['withdrawal', { withdrawal: 'delete' as 'purge' }],
    ['urlLifetimeSeconds', { urlLifetimeSeconds: 604_800 }],
    ['throttling.burst', { throttling: { ...settings.throttling, burst: 5001 } }],
    [
      'throttling.export.requestsPerSecond',
      { throttling: { ...settings.throttling, export: { requestsPerSecond: 0, burst: 10 } } },
    ],
    ['concurrency.fileExports', { concurrency: { exportRequests: 2, fileExports: 1 } }],
    ['concurrency.smallFileExports', { concurrency: { exportRequests: 2, fileExports: 2, smallFileExports: 1 } }],
    ['concurrency.directFiles', { concurrency: { exportRequests: 2, fileExports: 2, directFiles: 0 } }],
    ['database.minCapacity', { database: { minCapacity: 0.3, maxCapacity: 1, backupDays: 1 } }],
    ['database.maxCapacity', { database: { minCapacity: 4, maxCapacity: 2, backupDays: 1 } }],
    ['database.clusterArn', { database }],
    ['database.secretArn', { database }],
    ['database.databaseName', { database }],
    ['database.secretKeyArn', { database: { ...existing.database, secretKeyArn: 'arn:aws:kms:eu-north-1:1:key/k' } }],
    ['archiveBucket.bucketName', { archiveBucket: { bucketName: 'No' } }],
    [
      'archiveKeysSecret.secretArn',
      { archiveKeysSecret: { secretArn: 'arn:aws:secretsmanager:eu-north-1:1:secret:x' } },
    ],
    ['identifiers.dataset', { identifiers: { dataset: 'EGAD' } }],
    ['identifiers.file', { identifiers: { file: '^EGAF(' } }],
    ['identifiers.file', { identifiers: { file: '^EGAF($' } }],
    ['alarmEmail', { alarmEmail: 'no-address' }],
    ['htsget.origins[0]', { htsget: { origins: ['https://*.example.org'] } }],
    ['login.issuer', { login: { issuer: 'http://login.example.org/', clientId: 'data-out' } }],
    ['login.clientId', { login: { issuer: 'https://login.example.org/', clientId: '' } }],
    ['login.scopes[0]', { login: { issuer: 'https://login.example.org/', clientId: 'x', scopes: ['openid email'] } }],
    ['logRetentionDays', { logRetentionDays: 91 as 90 }],
    ['bucketLogRetentionDays', { bucketLogRetentionDays: 0 }],
    ['auditRetentionDays', { auditRetentionDays: 29 }],
    // Rows must outlive the containers, which they tell of.
    ['auditRetentionDays', { outboxExpiryDays: 30, auditRetentionDays: 59 }],
    ['service.organizationUrl', { service: { ...settings.service, organizationUrl: 'http://example.org' } }],
  ];
  test.each(wrong)('with an impossible %s are refused by that name', (field, change) => {
    const check = () => checkSettings({ ...settings, ...change });
    expect(check).toThrow(SettingsError);
    expect(check).toThrow(`\n  ${field}: `);
  });

  test('that are wrong in several places are refused at once for all of them', () => {
    const check = () => checkSettings({ ...settings, archiveKind: '', outboxExpiryDays: -1 });
    expect(check).toThrow(/archiveKind: [\s\S]*outboxExpiryDays: /);
  });
});

test.each([
  [{ outboxExpiryDays: 400 }, 'outboxExpiryDays: Too big: expected number to be <=365, got 400'],
  [{ stage: 'Test' }, "stage: Expected 1-20 of a-z, 0-9 and inner dashes, got 'Test'"],
  [{ events: 'yes' }, `events: Invalid option: expected one of "off"|"on", got 'yes'`],
  [{ database: { minCapacity: 1, backupDays: 7 } }, 'database.maxCapacity: Invalid input: expected number, '],
  [{ alarmEmail: ['a@example.org'] }, "alarmEmail: Invalid input: expected string, received array, got [ 'a@ex"],
  [{ archiveKind: 'x'.repeat(100) }, `archiveKind: Expected 1-64 of a-z, 0-9, - and _, got '${'x'.repeat(78)}…`],
  [{ database: { ...existing.database, backupDays: 1 } }, 'database: Unrecognized key: "backupDays"'],
])('a wrong value says what it got: %j', (change, fault) => {
  expect(() => checkSettings({ ...settings, ...change } as never)).toThrow(
    `private/settings.ts cannot work:\n  ${fault}`,
  );
});

describe('settings of every kind', () => {
  const key = (name: string) => `arn:aws:kms:eu-north-1:${account}:key/${name}`;
  const secret = (name: string) => `arn:aws:secretsmanager:eu-north-1:${account}:secret:${name}-AbCdEf`;
  const complete = {
    ...settings,
    ...existing,
    events: 'on',
    directAccess: 'on',
    logKeys: 'customer',
    domains: {
      proxy: {
        name: 'data.example.org',
        certificateArn: `arn:aws:acm:eu-north-1:${account}:certificate/one`,
      },
      dataOut: {
        name: 'direct.example.org',
        certificateArn: `arn:aws:acm:eu-north-1:${account}:certificate/two`,
      },
    },
    otherArchiveBuckets: [{ bucketName: 'archive-2', keyArn: key('two') }, { bucketName: 'archive.3' }],
    archiveKeysSecret: { ...existing.archiveKeysSecret, keyArn: key('keys') },
    database: { ...existing.database, secretKeyArn: key('db') },
    htsget: { origins: ['https://genome.example.org'] },
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
      for (const wrong of [/^(deliveryReceipt|adminPage)$/.test(name) ? 'true' : true, null, 7n]) {
        const found = faults(changed(given, path, wrong));
        expect(found.length).toBeGreaterThan(0);
        for (const fault of found) expect(fault.startsWith(`${name}: `)).toBe(true);
      }
    },
  );

  test.each([
    [[], 'alarmMail'],
    [['target'], 'profile'],
    [['throttling'], 'rate'],
    [['throttling', 'export'], 'rate'],
    [['concurrency'], 'direct'],
    [['domains'], 'direct'],
    [['domains', 'proxy'], 'zone'],
    [['htsget'], 'pages'],
    [['database'], 'clusterArnn'],
    [['archiveBucket'], 'region'],
    [['otherArchiveBuckets', 1], 'key'],
    [['archiveKeysSecret'], 'arn'],
    [['service'], 'name'],
  ])('are refused for a field below %j that does not exist', (path, name) => {
    const given = changed(complete, [...path, name], 'x');
    const [fault, ...others] = faults(given);
    expect(others).toEqual([]);
    const within = path
      .map((part) => (typeof part === 'number' ? `[${part}]` : `.${part}`))
      .join('')
      .slice(1);
    expect(fault).toBe(`${within && `${within}: `}Unrecognized key: "${name}"`);
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

  const secrets = ['database.secretArn', 'archiveKeysSecret.secretArn'];
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
      expect(fault).toMatch(/\.bucketName: Invalid name of a bucket: /);
    }
  });

  test.each(['abc', 'a'.repeat(63), 'my.archive-2', '1-2-3', '1.2.3', 'archive-x-s3'])(
    'are accepted for a bucket %s',
    (name) => {
      expect(faults(changed(complete, ['archiveBucket', 'bucketName'], name))).toEqual([]);
    },
  );
});
