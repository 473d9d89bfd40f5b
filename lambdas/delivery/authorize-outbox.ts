import { archiveCredentialsPolicies, environment } from '../../lib/contract/environment.ts';
import { isError } from '../../lib/errors.ts';
import { RdsArchiveUsers } from '../../lib/service/catalogue/users.ts';
import { headersOf } from '../../lib/service/http/api-gateway.ts';
import { archiveCredentials } from '../../lib/service/outbox/archive-credentials.ts';
import { authorizeOutboxCaller, type OutboxAccess } from '../../lib/service/outbox/caller.ts';
import { requestAuthorizer } from '../shared/authorizer.ts';
import { required } from '../shared/runtime.ts';
import { deployedVisaRules, promptDatabase } from '../shared/wiring.ts';

const access = outboxAccess();
const resources = ['GET/files', 'GET/stream/*', 'HEAD/stream/*'];

/**
 * Request authorizer of list and stream: visa and archive credentials. The functions behind it verify the visa once more, and
 * serve only callers that this one has admitted. There are two reasons for an authorizer: only API Gateway itself can send
 * `WWW-Authenticate`, and the functions that serve the outbox need no access to the database.
 */
export const handler = requestAuthorizer(resources, async (event) => {
  try {
    const { principalId, archiveUser } = await authorizeOutboxCaller({ headers: headersOf(event) }, access);
    return { principalId, context: { isAdmitted: 'true', ...(archiveUser !== undefined && { archiveUser }) } };
  } catch (error) {
    if (!isError(error, 'invalid_request')) throw error;
    // A header that is given twice. The caller passes without being admitted: the function can answer 400, and only that.
    return { principalId: 'unverified' };
  }
});

function outboxAccess(): OutboxAccess {
  const value = required(environment.archiveCredentials);
  const policy = archiveCredentialsPolicies.find((name) => name === value);
  if (!policy) {
    throw new Error(
      `environment variable ${environment.archiveCredentials} is not one of ${archiveCredentialsPolicies}`,
    );
  }
  const users = new RdsArchiveUsers(promptDatabase());
  return { rules: deployedVisaRules(), checkArchiveCredentials: archiveCredentials(users, policy, () => new Date()) };
}
