import type { Settings } from '../lib/infra/settings.ts';

/**
 * The defaults, for the local engine and the tests. An operator writes other values to `private/settings.ts`, which a new version
 * leaves alone: docs/operators.md. What each field means: docs/settings.md.
 *
 * To use resources that you already have, name them there. For example:
 *
 *     database: { clusterArn: 'arn:aws:rds:…', secretArn: 'arn:aws:secretsmanager:…', databaseName: 'lega' },
 *     archiveBucket: { bucketName: 'my-archive', keyArn: 'arn:aws:kms:…' },
 *     otherArchiveBuckets: [{ bucketName: 'my-archive-2', keyArn: 'arn:aws:kms:…' }],
 *     archiveKeysSecret: { secretArn: 'arn:aws:secretsmanager:…' },
 */
export const settings: Settings = {
  archiveKind: 'fega',
  archiveCredentials: 'required',
  adminPage: false,
  outboxExpiryDays: 30,
  deliveryReceipt: true,
  receiptKeys: 1,
  withdrawal: 'report',
  urlLifetimeSeconds: 900,
  throttling: { requestsPerSecond: 50, burst: 100, export: { requestsPerSecond: 5, burst: 10 } },
  concurrency: { exportRequests: 2, fileExports: 10 },

  database: { minCapacity: 0.5, maxCapacity: 8, backupDays: 14 },

  logRetentionDays: 90,
  apiGatewayLogRole: 'create',
  bucketLogRetentionDays: 365,

  service: {
    id: 'org.example.data-out',
    organizationName: 'Example Archive',
    organizationUrl: 'https://example.org',
  },
};
