import { InvalidRequestError } from '../../lib/errors.ts';
import { headersOf } from '../../lib/http/api-gateway.ts';
import { admitToOutbox } from '../../lib/http/recipients.ts';
import { requestAuthorizer } from '../shared/authorizer.ts';
import { outboxAccess } from '../shared/outbox-access.ts';

const access = outboxAccess();

/**
 * Request authorizer of list and stream: visa and archive credentials. The functions behind it verify the visa once more,
 * and serve nobody whom this has not admitted. It is here because only API Gateway itself can send `WWW-Authenticate`, and
 * so that what serves the outbox has no access to the database.
 */
export const handler = requestAuthorizer(['GET/files', 'GET/stream/*', 'HEAD/stream/*'], async (event) => {
  try {
    const { principalId, archiveUser } = await admitToOutbox({ headers: headersOf(event) }, access);
    return { principalId, context: { isAdmitted: 'true', ...(archiveUser !== undefined && { archiveUser }) } };
  } catch (error) {
    if (!(error instanceof InvalidRequestError)) throw error;
    // A header that is given twice: the function says so with 400. Not admitted, so it can do nothing else.
    return { principalId: 'unverified' };
  }
});
