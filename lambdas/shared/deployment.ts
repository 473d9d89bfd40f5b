import type { Context } from 'aws-lambda';
import { databaseRoles, roleSecretVariables } from '../../lib/contract/database-roles.ts';
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
export const roleSecrets = (['proxy', 'auditor', 'reader', 'worker'] as const).flatMap((name) => {
  const secretArn = process.env[roleSecretVariables[name]];
  return secretArn ? [{ role: databaseRoles[name], secretArn }] : [];
});
