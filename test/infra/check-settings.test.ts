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
    ['urlLifetimeSeconds', { urlLifetimeSeconds: 3601 }],
    ['throttling.requestsPerSecond', { throttling: { ...settings.throttling, requestsPerSecond: 10_001 } }],
    ['throttling.burst', { throttling: { ...settings.throttling, burst: 5001 } }],
    [
      'throttling.export.requestsPerSecond',
      { throttling: { ...settings.throttling, export: { requestsPerSecond: 0, burst: 10 } } },
    ],
    ['concurrency.fileExports', { concurrency: { exportRequests: 2, fileExports: 1 } }],
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
    ['identifiers.file', { identifiers: { file: '^EGAF($' } }],
    ['alarmEmail', { alarmEmail: 'no-address' }],
    ['htsget.origins[0]', { htsget: { origins: ['https://*.example.org'] } }],
    ['login.issuer', { login: { issuer: 'http://login.example.org/', clientId: 'data-out' } }],
    ['login.clientId', { login: { issuer: 'https://login.example.org/', clientId: '' } }],
    ['login.scopes[0]', { login: { issuer: 'https://login.example.org/', clientId: 'x', scopes: ['openid email'] } }],
    ['login.scopes', { login: { issuer: 'https://login.example.org/', clientId: 'x', scopes: ['email'] } }],
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
});

test('wrong values in several places are refused at once, each with what it is', () => {
  const check = () => checkSettings({ ...settings, outboxExpiryDays: 400, archiveKind: 'x'.repeat(100) });
  expect(check).toThrow(`archiveKind: Expected 1-64 of a-z, 0-9, - and _, got '${'x'.repeat(78)}…`);
  expect(check).toThrow('outboxExpiryDays: Too big: expected number to be <=365, got 400');
});

describe('settings of every kind', () => {
  const key = (name: string) => `arn:aws:kms:eu-north-1:${account}:key/${name}`;
  const certificate = (id: string) => `arn:aws:acm:eu-north-1:${account}:certificate/${id}`;
  const domains = {
    proxy: { name: 'data.example.org', certificateArn: certificate('one') },
    dataOut: { name: 'direct.example.org', certificateArn: certificate('two') },
  };
  const complete = {
    ...{ ...settings, ...existing, domains, events: 'on', directAccess: 'on', logKeys: 'customer' },
    otherArchiveBuckets: [{ bucketName: 'archive-2', keyArn: key('two') }, { bucketName: 'archive.3' }],
    archiveKeysSecret: { ...existing.archiveKeysSecret, keyArn: key('keys') },
    database: { ...existing.database, secretKeyArn: key('db') },
    htsget: { origins: ['https://genome.example.org'] },
  };
  const faults = (given: object): readonly string[] => {
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

  test('are accepted, also without a target and with a cluster that sleeps', () => {
    const { target: _, ...anywhere } = complete;
    const database = { minCapacity: 0, maxCapacity: 1.5, backupDays: 35 };
    expect([complete, anywhere, { ...settings, database }].map(faults)).toEqual([[], [], []]);
  });

  test.each([
    ['alarmMail', { alarmMail: 'x' }, ''],
    ['key', { otherArchiveBuckets: [complete.otherArchiveBuckets[0], { bucketName: 'archive.3', key: 'x' }] }, '[1]'],
  ])('are refused for a field %s that does not exist', (name, change, at) => {
    const place = at && `otherArchiveBuckets${at}: `;
    expect(faults({ ...complete, ...change })).toEqual([`${place}Unrecognized key: "${name}"`]);
  });

  test.each([
    ['eu-north-1', 'eu-west-1'],
    [account, '210987654321'],
  ])('are refused by the name of each ARN whose %s is %s, and the target says otherwise', (from, to) => {
    const expected = `: expected region eu-north-1 and account ${account}, those of target`;
    const { target, ...arns } = complete;
    const elsewhere = JSON.parse(JSON.stringify(arns).replaceAll(from, to));
    expect(faults({ ...elsewhere, target }).toSorted()).toEqual(
      [
        ...['archiveBucket.keyArn', 'archiveKeysSecret.keyArn', 'archiveKeysSecret.secretArn', 'database.clusterArn'],
        ...['database.secretArn', 'database.secretKeyArn', 'domains.dataOut.certificateArn'],
        ...['domains.proxy.certificateArn', 'otherArchiveBuckets[0].keyArn'],
      ].map((name) => `${name}${expected}`),
    );
  });

  const { secretArn } = complete.database;
  test.each([
    [
      { archiveKeysSecret: { ...complete.archiveKeysSecret, secretArn } },
      /^(database|archiveKeysSecret)\.secretArn: expected another secret than /,
    ],
    [{ otherArchiveBuckets: [{ bucketName: 'the-archive' }] }, /bucketName: expected another bucket than /],
    [
      { domains: { proxy: domains.proxy, dataOut: domains.proxy } },
      /^domains\.dataOut\.name: expected another name than /,
    ],
    [
      { domains: { proxy: { ...domains.proxy, name: 'Data.example.org' } } },
      /^domains\.proxy\.name: Expected a host name/,
    ],
    [
      { domains: { proxy: { ...domains.proxy, certificateArn: 'c' } } },
      /^domains\.proxy\.certificateArn: Expected the ARN/,
    ],
    [{ archiveBucket: { bucketName: 'xn--archive' } }, /^archiveBucket\.bucketName: Invalid name of a bucket: /],
  ])('are refused when they contradict each other, or a service: %j', (change, fault) => {
    const [first, ...others] = faults({ ...complete, ...change });
    expect([first, others]).toEqual([expect.stringMatching(fault), []]);
  });

  test.each([
    ['concurrency.directFiles', { concurrency: existing.concurrency }],
    ['domains.dataOut', { domains: { dataOut: domains.dataOut } }],
    ['compatibility', { compatibility: ['ega'] }],
    ['htsget', { htsget: complete.htsget }],
  ])('are refused for %s while the direct API is off', (field, change) => {
    const expected = `${field}: expected no such field while directAccess is off`;
    expect(faults({ ...settings, ...change, directAccess: 'off' })).toEqual([expected]);
    expect(faults({ ...settings, ...change })).toEqual([]);
  });
});
