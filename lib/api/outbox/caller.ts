import { outboxPrefix } from '../../contract/outbox-key.ts';
import { UnauthenticatedError } from '../../errors.ts';
import { type HttpRequest, singleHeader } from '../../http/request.ts';
import type { VisaRules } from '../../visas/index.ts';
import { verifiedToken } from '../verified-token.ts';
import { visaToken } from './visa-token.ts';

/** One part of the outbox that belongs to the caller. */
export interface Recipient {
  readonly prefix: string;
  /** The visa's `sub`, shown as the owner of the files. */
  readonly sub: string;
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
 * The caller of a function behind the authorizer, with the caller's own parts of the outbox: usually one, more when a passport
 * carries visas of several identities, which are all the caller's. The visa is verified once more. The archive credentials
 * are not: the authorizer has checked them.
 *
 * @throws UnauthenticatedError without a valid visa, or when the authorizer did not admit the caller.
 * @throws InvalidRequestError
 */
export async function callerOf(request: HttpRequest, rules: VisaRules): Promise<Caller> {
  const { subjects } = await verifiedToken(visaToken(request), rules);
  // The authorizer lets a header that is given twice pass, so that this answers 400.
  singleHeader(request, 'Authorization');
  const { isAdmitted, archiveUser } = request.authorizer;
  if (isAdmitted !== 'true') throw new UnauthenticatedError('the credentials were not accepted: send the right ones');
  const bySubject = new Map(subjects.map((subject) => [outboxPrefix(subject), subject.sub]));
  const recipients = Array.from(bySubject, ([prefix, sub]) => ({ prefix, sub }));
  return { recipients, ...(archiveUser !== undefined && { archiveUser }) };
}
