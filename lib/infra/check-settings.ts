import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { Settings } from './settings.ts';

/** Settings that cannot work. The message names every field that is wrong. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
}

const arn = (service: string, resource: string) =>
  new RegExp(`^arn:aws[a-z-]*:${service}:[a-z0-9-]+:\\d{12}:${resource}`);
const keyArn = arn('kms', 'key/.+$');
const secretArn = arn('secretsmanager', 'secret:.+-[A-Za-z0-9]{6}$');

/** Check every field, and report all that is wrong at once. @throws SettingsError */
export function checkSettings(settings: Settings): void {
  const faults: string[] = [];
  const expect = (holds: boolean, field: string, expected: string) => {
    if (!holds) faults.push(`${field}: expected ${expected}`);
  };
  const whole = (value: number, field: string, from: number, to: number) =>
    expect(Number.isInteger(value) && value >= from && value <= to, field, `a whole number from ${from} to ${to}`);
  const match = (value: string | undefined, pattern: RegExp, field: string, expected: string) =>
    expect(value === undefined || pattern.test(value), field, expected);

  match(settings.stage, /^[a-z0-9](?:[a-z0-9-]{0,18}[a-z0-9])?$/, 'stage', '1-20 of a-z, 0-9 and inner dashes');
  match(settings.target?.account, /^\d{12}$/, 'target.account', '12 digits');
  match(settings.target?.region, /^[a-z]{2}(-[a-z]+)+-\d$/, 'target.region', 'a region such as eu-north-1');
  match(settings.archiveKind, /^[a-z0-9_-]{1,64}$/, 'archiveKind', '1-64 of a-z, 0-9, - and _');
  expect(
    ['required', 'when-presented'].includes(settings.archiveCredentials),
    'archiveCredentials',
    "'required' or 'when-presented'",
  );
  whole(settings.outboxExpiryDays, 'outboxExpiryDays', 1, 365);
  whole(settings.urlLifetimeSeconds, 'urlLifetimeSeconds', 60, 3_600);
  expect(settings.retryDelaysSeconds.length > 0, 'retryDelaysSeconds', 'at least one delay');
  settings.retryDelaysSeconds.forEach((delay, index) => {
    whole(delay, `retryDelaysSeconds[${index}]`, 1, 3_600);
  });
  for (const [field, { requestsPerSecond, burst }] of [
    ['throttling', settings.throttling],
    ['throttling.export', settings.throttling.export],
  ] as const) {
    whole(requestsPerSecond, `${field}.requestsPerSecond`, 1, 10_000);
    whole(burst, `${field}.burst`, 1, 5_000);
  }
  whole(settings.concurrency.exportRequests, 'concurrency.exportRequests', 2, 1_000);
  whole(settings.concurrency.fileExports, 'concurrency.fileExports', 2, 1_000);
  whole(settings.concurrency.directFiles ?? 1, 'concurrency.directFiles', 1, 1_000);

  const { database } = settings;
  if ('clusterArn' in database) {
    match(database.clusterArn, arn('rds', 'cluster:.+$'), 'database.clusterArn', 'the ARN of an RDS cluster');
    match(database.secretArn, secretArn, 'database.secretArn', 'the complete ARN of a secret');
    match(database.secretKeyArn, keyArn, 'database.secretKeyArn', 'the ARN of a KMS key');
    for (const role of ['proxy', 'reader', 'worker'] as const) {
      const [secretField, keyField] = [`database.${role}SecretArn`, `database.${role}SecretKeyArn`];
      const [secret, key] = [database[`${role}SecretArn`], database[`${role}SecretKeyArn`]];
      match(secret, secretArn, secretField, 'the complete ARN of a secret');
      expect(secret !== database.secretArn, secretField, 'another secret than database.secretArn');
      match(key, keyArn, keyField, 'the ARN of a KMS key');
      expect(secret !== undefined || key === undefined, keyField, `${secretField} beside it`);
    }
    match(database.databaseName, /^[A-Za-z_][A-Za-z0-9_]{0,62}$/, 'database.databaseName', 'a PostgreSQL name');
  } else {
    const half = (value: number) => Number.isInteger(value * 2) && value <= 256;
    expect(half(database.minCapacity) && database.minCapacity >= 0, 'database.minCapacity', '0-256 in steps of 0.5');
    expect(half(database.maxCapacity) && database.maxCapacity >= 1, 'database.maxCapacity', '1-256 in steps of 0.5');
    expect(database.maxCapacity >= database.minCapacity, 'database.maxCapacity', 'no less than database.minCapacity');
    whole(database.backupDays, 'database.backupDays', 1, 35);
  }
  match(
    settings.archiveBucket?.bucketName,
    /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/,
    'archiveBucket.bucketName',
    'the name of a bucket',
  );
  match(settings.archiveBucket?.keyArn, keyArn, 'archiveBucket.keyArn', 'the ARN of a KMS key');
  match(
    settings.archiveKeysSecret?.secretArn,
    secretArn,
    'archiveKeysSecret.secretArn',
    'the complete ARN of a secret',
  );
  match(settings.archiveKeysSecret?.keyArn, keyArn, 'archiveKeysSecret.keyArn', 'the ARN of a KMS key');

  match(settings.alarmEmail, /^[^\s@]+@[^\s@]+$/, 'alarmEmail', 'an e-mail address');
  expect(
    settings.logRetentionDays in RetentionDays,
    'logRetentionDays',
    'a period that CloudWatch Logs knows, such as 90',
  );
  expect(['create', 'present'].includes(settings.apiGatewayLogRole), 'apiGatewayLogRole', "'create' or 'present'");
  whole(settings.bucketLogRetentionDays, 'bucketLogRetentionDays', 1, 3_650);
  match(settings.service.id, /^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$/, 'service.id', 'a reverse domain name');
  expect(settings.service.organizationName.length > 0, 'service.organizationName', 'a name');
  match(settings.service.organizationUrl, /^https:\/\/\S+$/, 'service.organizationUrl', 'an https:// address');

  if (faults.length > 0) throw new SettingsError(`bin/settings.ts cannot work:\n  ${faults.join('\n  ')}`);
}
