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
