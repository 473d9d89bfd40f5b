import type { Context } from 'aws-lambda';
import { type DatabaseRole, databaseRoles } from '../lib/contract/database-roles.ts';
import { environment } from '../lib/contract/environment.ts';
import { RdsRetention } from '../lib/stores/rds/audit/retention.ts';
import { rdsDataClient } from '../lib/stores/rds/client.ts';
import { DataApi } from '../lib/stores/rds/data-api.ts';
import { closeRole, currentLogin, prepareRole, type RoleLogin } from '../lib/stores/rds/logins/database-role.ts';
import { migrate, migration } from '../lib/stores/rds/migrate.ts';
import catalogue from '../lib/stores/rds/migrations/0001-catalogue.sql';
import catalogueIndexes from '../lib/stores/rds/migrations/0002-catalogue-indexes.sql';
import dataOut from '../lib/stores/rds/migrations/0003-data-out.sql';
import auditIndexes from '../lib/stores/rds/migrations/0004-audit-indexes.sql';
import archiveLocation from '../lib/stores/rds/migrations/0005-archive-location.sql';
import fanOuts from '../lib/stores/rds/migrations/0006-fan-outs.sql';
import uploads from '../lib/stores/rds/migrations/0007-uploads.sql';
import deliveries from '../lib/stores/rds/migrations/0008-deliveries.sql';
import archiveIndexes from '../lib/stores/rds/migrations/0009-archive-indexes.sql';
import retention from '../lib/stores/rds/migrations/0010-retention.sql';
import largeRequests from '../lib/stores/rds/migrations/0011-large-requests.sql';
import { s3Client } from '../lib/stores/s3/client.ts';
import { S3OutboxRemover } from '../lib/stores/s3/outbox-remover.ts';
import { secretsManagerClient } from '../lib/stores/secrets/client.ts';
import { settled, workingMs } from './shared/deployment.ts';
import { describeError, logger } from './shared/observability.ts';
import { roleSecrets } from './shared/role-secrets.ts';
import { optionalNumber, required } from './shared/runtime.ts';

/** Imported one by one, so that the bundle holds their text and a changed file makes another function version. */
const migrations = [
  migration('0001-catalogue.sql', catalogue),
  migration('0002-catalogue-indexes.sql', catalogueIndexes),
  migration('0003-data-out.sql', dataOut),
  migration('0004-audit-indexes.sql', auditIndexes),
  migration('0005-archive-location.sql', archiveLocation),
  migration('0006-fan-outs.sql', fanOuts),
  migration('0007-uploads.sql', uploads),
  migration('0008-deliveries.sql', deliveries),
  migration('0009-archive-indexes.sql', archiveIndexes),
  migration('0010-retention.sql', retention),
  migration('0011-large-requests.sql', largeRequests),
];

let remainingMs = (): number => 0;
const db = new DataApi({
  client: rdsDataClient(),
  clusterArn: required(environment.databaseClusterArn),
  secretArn: required(environment.databaseSecretArn),
  database: required(environment.databaseName),
  remainingMs: () => remainingMs(),
});

/**
 * Run by a deploy-time trigger before anything reads the database, and by an operator who changed the password in the
 * secret of a role. Waits for a paused cluster as long as the invocation lasts, and some minutes for new permissions and a
 * new cluster; a failure is thrown, and rolls the deployment back.
 */
export async function handler(_event: unknown, context: Context): Promise<{ applied: string[] }> {
  remainingMs = () => workingMs(context);
  const applied = await settled(bringUpToDate, context);
  logger.info('database is up to date', { applied });
  await markOpen();
  return { applied };
}

/**
 * The previous version may have left a request open without the sign that the sweep looks for. A failure to write it
 * is not an error: the daily sweep needs no sign, and the role of an earlier release may not write it.
 */
async function markOpen(): Promise<void> {
  try {
    await new S3OutboxRemover({ client: s3Client(), bucket: required(environment.outboxBucket) }).markOpen();
  } catch (error) {
    logger.warn('open requests are not marked: the daily sweep looks for them', describeError(error));
  }
}

async function bringUpToDate(): Promise<string[]> {
  const client = secretsManagerClient();
  const logins: { role: DatabaseRole; login: RoleLogin }[] = [];
  for (const { role, secretArn } of roleSecrets) {
    logins.push({ role, login: await currentLogin({ client, secretArn }, role) });
  }
  const applied = await migrate(db, migrations);
  await new RdsRetention(db).keep(optionalNumber(environment.auditRetentionDays));
  for (const { role, login } of logins) await prepareRole(db, role, login.password, login.username);
  const closed = Object.values(databaseRoles).find((role) => role === process.env[environment.databaseClosedRole]);
  if (closed) await closeRole(db, closed);
  return applied;
}
