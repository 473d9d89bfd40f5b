import { outboxPrefix } from '../../contract/outbox-key.ts';
import { verifiedToken } from '../../direct/access.ts';
import { UnauthenticatedError } from '../../errors.ts';
import { visaToken } from '../../http/authorization.ts';
import { type HttpRequest, singleHeader } from '../../http/request.ts';
import type { VisaRules } from '../../visas/index.ts';
import type { ArchiveCredentials } from './archive-credentials.ts';

/** One part of the outbox that belongs to the caller. */
export interface Recipient {
  readonly prefix: string;
  /** The visa's `sub`, shown as the owner of the files. */
  readonly sub: string;
}

/** What the authorizer of list and stream knows about credentials. */
export interface OutboxAccess {
  readonly rules: VisaRules;
  readonly archiveCredentials: ArchiveCredentials;
}

/** Who calls list or stream. */
export interface Caller {
  readonly recipients: readonly Recipient[];
  /** The user of the central archive whose credentials were right; absent when none were sent. */
  readonly archiveUser?: string;
}

/** Who was given something, for the log; neither visa nor password is in it. */
export interface Access {
  readonly requestId: string;
  /** Outbox prefixes. */
  readonly recipients: readonly string[];
  readonly archiveUser?: string;
}

/** What the log may say of a caller who was given something from these parts of the outbox. */
export function accessOf(
  request: HttpRequest,
  caller: Caller,
  recipients: readonly Pick<Recipient, 'prefix'>[],
): Access {
  const { archiveUser } = caller;
  const prefixes = recipients.map(({ prefix }) => prefix);
  return { requestId: request.requestId, recipients: prefixes, ...(archiveUser !== undefined && { archiveUser }) };
}

/**
 * The authorizer's part: whether the credentials are right. The visa is checked first, in memory: a caller without one must
 * not make the database work.
 *
 * @returns `principalId`: the outbox prefix of the visa's subject; `archiveUser`: see {@link Caller}
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

/**
 * The function's part: the caller, and their own parts of the outbox: usually one, more when a passport carries visas of
 * several identities, which are all the caller's. The visa is verified once more; for the archive credentials the authorizer's
 * word counts.
 *
 * @throws UnauthenticatedError without a valid visa, or when the authorizer did not admit the caller.
 * @throws InvalidRequestError
 */
export async function callerOf(request: HttpRequest, rules: VisaRules): Promise<Caller> {
  const { subjects } = await verifiedToken(visaToken(request), rules);
  // Only its number is checked: the authorizer lets a header that is given twice pass, so that the answer is 400.
  singleHeader(request, 'Authorization');
  const { isAdmitted, archiveUser } = request.authorizer;
  if (isAdmitted !== 'true') throw new UnauthenticatedError('the credentials were not accepted');
  const bySubject = new Map(subjects.map((subject) => [outboxPrefix(subject), subject.sub]));
  const recipients = Array.from(bySubject, ([prefix, sub]) => ({ prefix, sub }));
  return { recipients, ...(archiveUser !== undefined && { archiveUser }) };
}
