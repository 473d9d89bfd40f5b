import { outboxPrefix } from '../../contract/outbox-key.ts';
import type { HttpRequest } from '../../http/request.ts';
import type { VisaRules } from '../../visas/index.ts';
import { verifiedToken } from '../verified-token.ts';
import type { ArchiveCredentials } from './archive-credentials.ts';
import { visaToken } from './visa-token.ts';

/** What the authorizer of list and stream checks credentials with. */
export interface OutboxAccess {
  readonly rules: VisaRules;
  readonly archiveCredentials: ArchiveCredentials;
}

/**
 * Check the credentials of a list or stream request, before a function serves it. The visa comes first, in memory: a caller
 * without one must not make the database work.
 *
 * @returns `principalId`: the outbox prefix of the visa's subject; `archiveUser`: the user of the central archive whose
 * credentials were right, `undefined` when none were sent
 * @throws UnauthenticatedError without a valid visa or right archive credentials. @throws InvalidRequestError
 */
export async function admitToOutbox(
  request: Pick<HttpRequest, 'headers'>,
  { rules, archiveCredentials }: OutboxAccess,
): Promise<{ principalId: string; archiveUser: string | undefined }> {
  const { subject } = await verifiedToken(visaToken(request), rules);
  const archiveUser = await archiveCredentials.check(request);
  return { principalId: outboxPrefix(subject), archiveUser };
}
