import type { VisaRules } from '../../lib/direct/access.ts';
import { RdsDirectCatalogue } from '../../lib/stores/rds/direct-catalogue.ts';
import { database, databasePatienceMs } from './database.ts';
import { trustedIssuers } from './trusted-issuers.ts';

/** Whom direct access trusts, and the catalogue it asks, from the environment of the function. */
export function directAccess(): { readonly rules: VisaRules; readonly catalogue: RdsDirectCatalogue } {
  return {
    rules: { issuers: trustedIssuers(), now: () => new Date() },
    catalogue: new RdsDirectCatalogue(database({ remainingMs: () => databasePatienceMs })),
  };
}
