import { settings } from '../../bin/settings.ts';
import type { Settings } from '../../lib/infra/settings.ts';

/** Account of all ARNs below. */
export const account = '123456789012';

/** Settings of an operator who has an archive, its keys and a cluster already; the rest is the repository's. */
export const existing = {
  stage: 'test',
  target: { account, region: 'eu-north-1' },
  archiveBucket: { bucketName: 'the-archive', keyArn: `arn:aws:kms:eu-north-1:${account}:key/bodies` },
  archiveKeysSecret: { secretArn: `arn:aws:secretsmanager:eu-north-1:${account}:secret:keys-AbCdEf` },
  database: {
    clusterArn: `arn:aws:rds:eu-north-1:${account}:cluster:lega`,
    secretArn: `arn:aws:secretsmanager:eu-north-1:${account}:secret:db-AbCdEf`,
    databaseName: 'lega',
  },
  identifiers: { dataset: '^set-[0-9]+$' },
  alarmEmail: 'operators@example.org',
  apiGatewayLogRole: 'present',
  concurrency: { ...settings.concurrency, directFiles: 20 },
} satisfies Partial<Settings>;

/** What an operator has or names; everything else can be switched. */
type Named = 'stage' | 'target' | 'archiveBucket' | 'otherArchiveBuckets' | 'archiveKeysSecret' | 'identifiers';

const certificateArn = (id: string) => `arn:aws:acm:eu-north-1:${account}:certificate/${id}`;

/** Everything that an operator can switch on. The type asks for each optional setting, so that none is forgotten. */
const everything: Required<Omit<Settings, Named>> = {
  ...settings,
  purpose: 'production',
  adminPage: true,
  deliveryReceipt: true,
  receiptKeys: 2,
  withdrawal: 'purge',
  outboxQuotaGib: 1000,
  directAccess: 'on',
  firewall: { requestsPerFiveMinutes: 10_000, exportRequestsPerFiveMinutes: 100 },
  domains: {
    proxy: { name: 'data.example.org', certificateArn: certificateArn('one') },
    dataOut: {
      name: 'direct.example.org',
      certificateArn: certificateArn('two'),
      hostedZone: { id: 'Z1', name: 'example.org' },
    },
  },
  concurrency: { exportRequests: 2, fileExports: 10, smallFileExports: 5, directFiles: 20 },
  archiveVersioning: 'on',
  databaseRotationDays: 30,
  alarmEmail: 'operators@example.org',
  events: 'on',
  logsOnDestroy: 'keep',
  logKeys: 'customer',
  dataEvents: 'on',
  auditRetentionDays: 3650,
};

const otherArchiveBuckets = [{ bucketName: 'archive-2' }];
const { target: _, ...existingAnywhere } = existing;
/** A bucket that is there already keeps versions as its owner says. */
const { archiveVersioning: __, ...everythingElse } = everything;

/** Settings that together make every resource and every exception there is. */
export const variants: Readonly<Record<string, Partial<Settings>>> = {
  'the default settings': {},
  'everything switched on': everything,
  'everything switched off': {
    deliveryReceipt: false,
    withdrawal: 'off',
    directAccess: 'off',
    archiveVersioning: 'off',
    logsOnDestroy: 'delete',
  },
  'what an operator has already': { ...existing, otherArchiveBuckets, events: 'on' },
  'what an operator has already, with everything switched on': {
    ...everythingElse,
    ...existing,
    otherArchiveBuckets,
    apiGatewayLogRole: 'create',
  },
  'the same without a target': { ...existingAnywhere, otherArchiveBuckets, apiGatewayLogRole: 'create' },
};
