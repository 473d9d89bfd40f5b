import { type VisaRules, visaRules } from '../../lib/visas/index.ts';
import { visaDenyList } from './deny-list.ts';
import { trustedIssuers } from './trusted-issuers.ts';

/** What every function that verifies goes by: the trusted issuers, the deny list, the clock. @throws at start-up */
export function deployedVisaRules(): VisaRules {
  const denyList = visaDenyList();
  return visaRules({ issuers: trustedIssuers(), denied: () => denyList.current(), now: () => new Date() });
}
