import { outboxPrefix } from '../contract/outbox-key.ts';
import { verifiedToken } from '../direct/access.ts';
import type { VisaRules } from '../visas/index.ts';
import type { ArchiveCredentials } from './archive-credentials.ts';
import { visaToken } from './authorization.ts';
import type { HttpRequest } from './request.ts';

/** One part of the outbox that belongs to the caller. */
export interface Recipient {
  readonly prefix: string;
  /** The visa's `sub`, shown as the owner of the files. */
  readonly sub: string;
}

/** What list and stream know about credentials. */
export interface RecipientAccess {
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
 * The caller, and their own parts of the outbox: usually one, more when a passport carries visas of several identities, which
 * are all the caller's. The visa is checked first, in memory, so that nobody without one can make the database work.
 * @throws UnauthenticatedError without a valid visa or right archive credentials. @throws InvalidRequestError,
 * TemporarilyUnavailableError
 */
export async function callerOf(request: HttpRequest, access: RecipientAccess): Promise<Caller> {
  const { subjects } = await verifiedToken(visaToken(request), access.rules);
  const archiveUser = await access.archiveCredentials.check(request);
  const bySubject = new Map(subjects.map((subject) => [outboxPrefix(subject), subject.sub]));
  const recipients = Array.from(bySubject, ([prefix, sub]) => ({ prefix, sub }));
  return { recipients, ...(archiveUser !== undefined && { archiveUser }) };
}
