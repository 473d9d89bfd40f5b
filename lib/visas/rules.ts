import type { DenyList } from '../contract/deny-list.ts';
import type { VerifiedGrants } from './grants.ts';
import type { TrustedIssuers } from './trusted-issuers.ts';
import { verifyVisaOrPassport } from './verify.ts';

/** How one deployment verifies tokens. Every function that verifies uses it. */
export interface VisaRules {
  readonly issuers: TrustedIssuers;
  /**
   * Verify a visa or passport at this moment. Nothing is remembered between calls.
   *
   * @throws VisaError when the token is refused; also the errors of reading the deny list
   */
  readonly verify: (token: string) => Promise<VerifiedGrants>;
}

/** @param parts.denied reads the current deny list. Called before each token is verified. */
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
