import type { Context } from 'aws-lambda';
import { type DatabaseRole, databaseRoles } from '../lib/contract/database-roles.ts';
import { environment } from '../lib/contract/environment.ts';
import { secretsManagerClient } from '../lib/service/stores/clients.ts';
import { closeRole, passwordOf, prepareRole } from '../lib/service/stores/rds/database-role.ts';
import { keepRows, migrate, migration } from '../lib/service/stores/rds/migrate.ts';
import baseline from '../lib/service/stores/rds/migrations/0001-baseline.sql';
import filesWithoutUser from '../lib/service/stores/rds/migrations/0002-files-without-user.sql';
import noIndexOfContents from '../lib/service/stores/rds/migrations/0003-no-index-of-contents.sql';
import { retriedUntilConsistent, roleSecrets, workingMs } from './shared/deployment.ts';
import { logger } from './shared/observability.ts';
import { optionalNumber } from './shared/runtime.ts';
import { database } from './shared/wiring.ts';

/** Imported, so that the bundle holds the text and a changed file makes another function version. */
const migrations = [
  migration('0001-baseline.sql', baseline),
  migration('0002-files-without-user.sql', filesWithoutUser),
  migration('0003-no-index-of-contents.sql', noIndexOfContents),
];

let remainingMs = (): number => 0;
const db = database({ remainingMs: () => remainingMs() });

/**
 * Run by a deploy-time trigger before anything reads the database, and by an operator who changed the password in the
 * secret of a role. Waits for a paused cluster as long as the invocation lasts, and some minutes for new permissions and a
 * new cluster; a failure is thrown, and rolls the deployment back.
 */
export async function handler(_event: unknown, context: Context): Promise<{ applied: string[] }> {
  remainingMs = () => workingMs(context);
  const applied = await retriedUntilConsistent(bringUpToDate, context);
  logger.info('database is up to date', { applied });
  return { applied };
}

async function bringUpToDate(): Promise<string[]> {
  const client = secretsManagerClient();
  const passwords = new Map<DatabaseRole, string>();
  for (const { role, secretArn } of roleSecrets) passwords.set(role, await passwordOf(role, { client, secretArn }));
  const applied = await migrate(db, migrations);
  await keepRows(db, optionalNumber(environment.auditRetentionDays));
  for (const [role, password] of passwords) await prepareRole(db, role, password);
  const closed = Object.values(databaseRoles).find((role) => role === process.env[environment.databaseClosedRole]);
  if (closed) await closeRole(db, closed);
  return applied;
}
