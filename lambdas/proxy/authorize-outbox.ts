import { admitToOutbox } from '../../lib/api/outbox/admit-to-outbox.ts';
import { InvalidRequestError } from '../../lib/errors.ts';
import { headersOf } from '../../lib/http/api-gateway.ts';
import { requestAuthorizer } from '../shared/authorizer.ts';
import { outboxAccess } from '../shared/outbox-access.ts';

const access = outboxAccess();

/**
 * Request authorizer of list and stream: visa and archive credentials. The functions behind it verify the visa once more, and
 * serve only callers that this one has admitted. There are two reasons for an authorizer: only API Gateway itself can send
 * `WWW-Authenticate`, and the functions that serve the outbox need no access to the database.
 */
export const handler = requestAuthorizer(['GET/files', 'GET/stream/*', 'HEAD/stream/*'], async (event) => {
  try {
    const { principalId, archiveUser } = await admitToOutbox({ headers: headersOf(event) }, access);
    return { principalId, context: { isAdmitted: 'true', ...(archiveUser !== undefined && { archiveUser }) } };
  } catch (error) {
    if (!(error instanceof InvalidRequestError)) throw error;
    // A header that is given twice. The caller passes without being admitted: the function can answer 400, and only that.
    return { principalId: 'unverified' };
  }
});
