import type { OutboxAccess } from '../../lib/api/outbox/admit-to-outbox.ts';
import { ArchiveCredentials } from '../../lib/api/outbox/archive-credentials.ts';
import { archiveCredentialsPolicies } from '../../lib/contract/archive-credentials.ts';
import { environment } from '../../lib/contract/environment.ts';
import { RdsArchiveUsers } from '../../lib/stores/rds/archive-users.ts';
import { promptDatabase } from './database.ts';
import { required } from './environment.ts';
import { deployedVisaRules } from './visa-rules.ts';

/** What the authorizer of list and stream knows about credentials, from the environment of the function. */
export function outboxAccess(): OutboxAccess {
  const policy = archiveCredentialsPolicies.find((name) => name === required(environment.archiveCredentials));
  if (!policy) {
    throw new Error(
      `environment variable ${environment.archiveCredentials} is not one of ${archiveCredentialsPolicies}`,
    );
  }
  const users = new RdsArchiveUsers(promptDatabase());
  const archiveCredentials = new ArchiveCredentials({ users, policy, clock: () => new Date() });
  return { rules: deployedVisaRules(), archiveCredentials };
}
