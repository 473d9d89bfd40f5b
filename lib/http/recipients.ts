import { outboxPrefix } from '../contract/outbox-key.ts';
import { UnauthenticatedError } from '../errors.ts';
import type { Clock } from '../export/ports.ts';
import { type TrustedIssuers, VisaError, verifyVisaOrPassport } from '../visas/index.ts';
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
  readonly issuers: TrustedIssuers;
  readonly archiveCredentials: ArchiveCredentials;
  readonly clock: Clock;
}

/**
 * The caller's own parts of the outbox: usually one, more when a passport carries visas of several identities, which
 * are all the caller's. The visa is checked first, in memory, so that nobody without one can make the database work.
 * @throws UnauthenticatedError without a valid visa or right archive credentials. @throws InvalidRequestError
 */
export async function recipientsOf(request: HttpRequest, access: RecipientAccess): Promise<readonly Recipient[]> {
  const subjects = await subjectsOf(visaToken(request), access);
  await access.archiveCredentials.check(request);
  const bySubject = new Map(subjects.map((subject) => [outboxPrefix(subject), subject.sub]));
  return Array.from(bySubject, ([prefix, sub]) => ({ prefix, sub }));
}

async function subjectsOf(token: string, { issuers, clock }: RecipientAccess) {
  try {
    return (await verifyVisaOrPassport(token, { issuers, now: clock() })).subjects;
  } catch (error) {
    if (error instanceof VisaError)
      throw new UnauthenticatedError(`the visa was refused (${error.code}): ${error.message}`);
    throw error;
  }
}
