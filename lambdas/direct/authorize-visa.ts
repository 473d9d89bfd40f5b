import { ticketPartsRoute } from '../../lib/contract/http.ts';
import { outboxPrefix } from '../../lib/contract/outbox-key.ts';
import { DataOutError, isError } from '../../lib/errors.ts';
import { isTicketToken, ticketPath, verifyTicket } from '../../lib/service/direct/htsget/token.ts';
import { headersOf } from '../../lib/service/http/api-gateway.ts';
import { bearerToken, verifiedToken } from '../../lib/service/http/authorization.ts';
import { requestAuthorizer } from '../shared/authorizer.ts';
import { deployedTicketKeys } from '../shared/direct-wiring.ts';
import { deployedVisaRules } from '../shared/wiring.ts';

const rules = deployedVisaRules();
const ticketKeys = deployedTicketKeys();
const now = () => new Date();

/**
 * Request authorizer of the direct API: whether the token is a visa or passport in force. It does not decide about datasets:
 * the functions behind it do, by the same token. Only API Gateway itself can send `WWW-Authenticate`, which takes an
 * authorizer: in a function's reply it renames that header.
 *
 * On the data URLs of htsget a token of their ticket is also accepted, and nowhere else.
 */
export const handler = requestAuthorizer(['*'], async (event) => {
  const token = theToken(headersOf(event));
  if (event.resource === ticketPartsRoute && isTicketToken(token)) {
    const path = ticketPath(new Map(Object.entries(event.pathParameters ?? {})));
    const { principalId } = await verifyTicket(token, path, { keys: ticketKeys, denied: rules.denied, now });
    return { principalId };
  }
  const { subject } = await verifiedToken(token, rules);
  // The hash under which the outbox knows the subject: the log then holds no name.
  return { principalId: outboxPrefix(subject) };
});

/** Two tokens are a 401 here: no request without a verified token may reach a function that holds keys. */
function theToken(headers: ReadonlyMap<string, readonly string[]>): string {
  try {
    return bearerToken({ headers });
  } catch (error) {
    throw isError(error, 'invalid_request') ? new DataOutError('unauthenticated', error.message) : error;
  }
}
