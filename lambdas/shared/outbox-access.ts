import { environment } from '../../lib/contract/environment.ts';
import { ArchiveCredentials, archiveCredentialsPolicies } from '../../lib/http/archive-credentials.ts';
import type { RecipientAccess } from '../../lib/http/recipients.ts';
import { RdsArchiveUsers } from '../../lib/stores/rds/archive-users.ts';
import { database, databasePatienceMs } from './database.ts';
import { required } from './environment.ts';
import { deployedVisaRules } from './visa-rules.ts';

/** What list and stream know about credentials, from the environment of the function. */
export function outboxAccess(): RecipientAccess {
  const policy = archiveCredentialsPolicies.find((name) => name === required(environment.archiveCredentials));
  if (!policy) {
    throw new Error(
      `environment variable ${environment.archiveCredentials} is not one of ${archiveCredentialsPolicies}`,
    );
  }
  const users = new RdsArchiveUsers(database({ remainingMs: () => databasePatienceMs }));
  const archiveCredentials = new ArchiveCredentials({ users, policy, clock: () => new Date() });
  return { rules: deployedVisaRules(), archiveCredentials };
}
