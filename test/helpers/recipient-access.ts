import { hash } from 'bcryptjs';
import type { Subject } from '../../lib/contract/outbox-key.ts';
import { archiveCredentials } from '../../lib/service/outbox/archive-credentials.ts';
import type { OutboxAccess } from '../../lib/service/outbox/caller.ts';
import type { ArchiveUsers } from '../../lib/service/outbox/ports.ts';
import { makeTestIssuer, rulesOf, type TestIssuer, type VisaChoices } from './issuer.ts';

/** The moment at which these requests are made. */
export const requestTime = new Date('2026-11-21T10:00:00Z');

/** A user of the central archive. */
export const archiveUser = { username: 'ana@archive', password: 'correct:horse' } as const;

export interface AccessWorld {
  readonly issuer: TestIssuer;
  /** Trusts the issuer; archive credentials are checked when presented, and those of {@link archiveUser} are right. */
  readonly access: OutboxAccess;
  /** Headers of a caller with a visa of the trusted issuer. */
  headers(choices?: VisaChoices): Promise<Record<string, string>>;
  subject(sub: string): Subject;
}

export async function accessWorld(): Promise<AccessWorld> {
  const issuer = await makeTestIssuer();
  const clock = () => requestTime;
  // The lowest cost, because no test is about the hash.
  const passwordHash = await hash(archiveUser.password, 4);
  const users: ArchiveUsers = {
    find: async (username) => (username === archiveUser.username ? { username, passwordHash } : undefined),
  };
  return {
    issuer,
    access: {
      rules: rulesOf(issuer, clock),
      checkArchiveCredentials: archiveCredentials(users, 'when-presented', clock),
    },
    headers: async (choices) => ({ 'Proxy-Authorization': `Bearer ${await issuer.visa(choices)}` }),
    subject: (sub) => ({ iss: issuer.iss, sub }),
  };
}
