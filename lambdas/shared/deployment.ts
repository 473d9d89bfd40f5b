import type { Context } from 'aws-lambda';
import { type DatabaseRole, databaseRoles } from '../../lib/contract/database-roles.ts';
import { environment } from '../../lib/contract/environment.ts';
import { whenConsistent } from '../../lib/service/stores/deployment.ts';
import { describeError, logger } from './observability.ts';

/** Time that is kept to report a failure before Lambda ends the invocation. */
const reserveMs = 3000;

/** Milliseconds that an invocation has left for its work. */
export function workingMs(context: Context): number {
  return context.getRemainingTimeInMillis() - reserveMs;
}

/** Run a step of a deployment by {@link whenConsistent} within the time of the invocation, with its refusals in the log. */
export function retriedUntilConsistent<T>(attempt: () => Promise<T>, context: Context): Promise<T> {
  return whenConsistent(attempt, {
    remainingMs: workingMs(context),
    onRefusal: (error) => logger.warn('refused, perhaps not for long', describeError(error)),
  });
}

/** The roles of the functions, and their secrets. The role of the direct API has none where that is off. */
export const roleSecrets: readonly { readonly role: DatabaseRole; readonly secretArn: string }[] = (
  [
    [databaseRoles.proxy, environment.databaseProxySecretArn],
    [databaseRoles.auditor, environment.databaseAuditorSecretArn],
    [databaseRoles.reader, environment.databaseReaderSecretArn],
    [databaseRoles.worker, environment.databaseWorkerSecretArn],
  ] as const
).flatMap(([role, variable]) => {
  const secretArn = process.env[variable];
  return secretArn ? [{ role, secretArn }] : [];
});
