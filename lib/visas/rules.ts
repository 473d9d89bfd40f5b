import type { DenyList } from '../contract/deny-list.ts';
import type { VerifiedGrants } from './grants.ts';
import type { TrustedIssuers } from './trusted-issuers.ts';
import { verifyVisaOrPassport } from './verify.ts';

/** How one deployment judges tokens: the one set-up of everything that verifies. */
export interface VisaRules {
  readonly issuers: TrustedIssuers;
  /**
   * Verify a visa or passport at this moment. Nothing is remembered between calls.
   *
   * @throws VisaError when the token is refused; what reading the deny list throws
   */
  readonly verify: (token: string) => Promise<VerifiedGrants>;
}

/** @param parts.denied reads the deny list as it is now. Called for each token, before it is looked at. */
export function visaRules(parts: {
  readonly issuers: TrustedIssuers;
  readonly denied: () => Promise<DenyList>;
  readonly now: () => Date;
}): VisaRules {
  const { issuers, denied, now } = parts;
  return {
    issuers,
    verify: async (token) => verifyVisaOrPassport(token, { issuers, denied: await denied(), now: now() }),
  };
}
