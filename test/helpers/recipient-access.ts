import type { Subject } from '../../lib/contract/outbox-key.ts';
import { ArchiveCredentials } from '../../lib/http/archive-credentials.ts';
import type { RecipientAccess } from '../../lib/http/recipients.ts';
import { makeTestIssuer, type TestIssuer, type VisaChoices } from './issuer.ts';

/** The moment at which these requests are made. */
export const requestTime = new Date('2026-11-21T10:00:00Z');

export interface AccessWorld {
  readonly issuer: TestIssuer;
  /** Trusts the issuer; archive credentials are checked when presented, and nobody's are right. */
  readonly access: RecipientAccess;
  /** Headers of a caller with a visa of the trusted issuer. */
  headers(choices?: VisaChoices): Promise<Record<string, string>>;
  subject(sub: string): Subject;
}

export async function accessWorld(): Promise<AccessWorld> {
  const issuer = await makeTestIssuer();
  const clock = () => requestTime;
  const users = { find: async () => undefined };
  return {
    issuer,
    access: {
      issuers: issuer.trusted,
      archiveCredentials: new ArchiveCredentials({ users, policy: 'when-presented', clock }),
      clock,
    },
    headers: async (choices) => ({ 'Proxy-Authorization': `Bearer ${await issuer.visa(choices)}` }),
    subject: (sub) => ({ iss: issuer.iss, sub }),
  };
}
