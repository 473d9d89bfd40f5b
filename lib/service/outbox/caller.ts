import { outboxPrefix } from '../../contract/outbox-key.ts';
import { DataOutError, invalidRequest } from '../../errors.ts';
import type { VisaRules } from '../../visas/index.ts';
import { parseBearer, token68, verifiedToken } from '../http/authorization.ts';
import { type HttpRequest, singleHeader } from '../http/request.ts';
import type { CheckArchiveCredentials } from './archive-credentials.ts';

export interface Recipient {
  readonly prefix: string;
  /** The visa's `sub`, shown as the owner of the files. */
  readonly sub: string;
}

export interface Caller {
  readonly recipients: readonly Recipient[];
  /** The user of the central archive whose credentials were right; `undefined` when none were sent. */
  readonly archiveUser: string | undefined;
}

/** Who was given something, for the log; neither visa nor password is in it. */
export interface Access {
  readonly requestId: string;
  readonly recipients: readonly string[];
  readonly archiveUser: string | undefined;
}

/** What the log may say of a caller who was given something from these parts of the outbox. */
export function accessOf(
  request: HttpRequest,
  caller: Caller,
  recipients: readonly Pick<Recipient, 'prefix'>[],
): Access {
  const prefixes = recipients.map(({ prefix }) => prefix);
  return { requestId: request.requestId, recipients: prefixes, archiveUser: caller.archiveUser };
}

/**
 * The caller of a function behind the authorizer, with the caller's own parts of the outbox: usually one, more when a passport
 * carries visas of several identities, which are all the caller's. The visa is verified once more. The archive credentials
 * are not: the authorizer has checked them.
 */
export async function callerOf(request: HttpRequest, rules: VisaRules): Promise<Caller> {
  const { subjects } = await verifiedToken(visaToken(request), rules);
  // The authorizer lets a header that is given twice pass, so that this answers 400.
  singleHeader(request, 'Authorization');
  const { isAdmitted, archiveUser } = request.authorizer;
  if (isAdmitted !== 'true')
    throw new DataOutError('unauthenticated', 'the credentials were not accepted: send the right ones');
  const bySubject = new Map(subjects.map((subject) => [outboxPrefix(subject), subject.sub]));
  const recipients = Array.from(bySubject, ([prefix, sub]) => ({ prefix, sub }));
  return { recipients, archiveUser };
}

/**
 * The visa or passport of a list or stream request: `Proxy-Authorization: Bearer <token>`, which clients in the field
 * send, or `X-GA4GH-Visa: <token>` for callers behind an intermediary that drops the first.
 */
export function visaToken(request: Pick<HttpRequest, 'headers'>): string {
  const bearer = singleHeader(request, 'Proxy-Authorization');
  const plain = singleHeader(request, 'X-GA4GH-Visa');
  if (!bearer && !plain) {
    throw new DataOutError('unauthenticated', 'a visa is missing: send Proxy-Authorization: Bearer, or X-GA4GH-Visa');
  }
  const fromBearer = bearer ? parseBearer(bearer, 'Proxy-Authorization') : undefined;
  if (plain && !token68.test(plain))
    throw new DataOutError('unauthenticated', 'X-GA4GH-Visa is not a token: send the visa alone');
  if (fromBearer && plain && fromBearer !== plain) {
    throw invalidRequest([{ field: 'X-GA4GH-Visa', message: 'differs from the visa in Proxy-Authorization' }]);
  }
  // One of the two is set by now. Verification refuses an empty token, as it does everything that is not a visa.
  return fromBearer ?? plain ?? '';
}

/** What the authorizer of list and stream checks credentials with. */
export interface OutboxAccess {
  readonly rules: VisaRules;
  readonly checkArchiveCredentials: CheckArchiveCredentials;
}

/**
 * Check the credentials of a list or stream request, before a function serves it. The visa comes first, in memory: a caller
 * without one must not make the database work.
 *
 * @returns `principalId`: the outbox prefix of the visa's subject; `archiveUser`: the user of the central archive whose
 * credentials were right, `undefined` when none were sent
 */
export async function authorizeOutboxCaller(
  request: Pick<HttpRequest, 'headers'>,
  { rules, checkArchiveCredentials }: OutboxAccess,
): Promise<{ principalId: string; archiveUser: string | undefined }> {
  const { subject } = await verifiedToken(visaToken(request), rules);
  const archiveUser = await checkArchiveCredentials(request);
  return { principalId: outboxPrefix(subject), archiveUser };
}
