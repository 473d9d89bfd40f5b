import { archiveCredentialsPolicies } from '../../lib/contract/archive-credentials.ts';
import { environment } from '../../lib/contract/environment.ts';
import { ArchiveCredentials } from '../../lib/http/archive-credentials.ts';
import type { OutboxAccess } from '../../lib/http/recipients.ts';
import { RdsArchiveUsers } from '../../lib/stores/rds/archive-users.ts';
import { database } from './database.ts';
import { required } from './environment.ts';
import { trustedIssuers } from './trusted-issuers.ts';

/**
 * Milliseconds that looking up a user may take. A paused cluster needs longer to resume: the caller gets a 503 and the
 * cluster is awake for the next try, rather than a client that gives up waiting.
 */
const databasePatienceMs = 8000;

/** What the authorizer of list and stream knows about credentials, from the environment of the function. */
export function outboxAccess(): OutboxAccess {
  const clock = () => new Date();
  const policy = archiveCredentialsPolicies.find((name) => name === required(environment.archiveCredentials));
  if (!policy) {
    throw new Error(
      `environment variable ${environment.archiveCredentials} is not one of ${archiveCredentialsPolicies}`,
    );
  }
  const users = new RdsArchiveUsers(database({ remainingMs: () => databasePatienceMs }));
  const archiveCredentials = new ArchiveCredentials({ users, policy, clock });
  return { rules: { issuers: trustedIssuers(), now: clock }, archiveCredentials };
}
