import type { VisaRules } from '../../lib/direct/access.ts';
import { RdsDirectCatalogue } from '../../lib/stores/rds/direct-catalogue.ts';
import { database } from './database.ts';
import { trustedIssuers } from './trusted-issuers.ts';

/**
 * Milliseconds that a query may take while a caller waits. A paused cluster needs longer to resume: the caller gets a 503
 * and the cluster is awake for the next try.
 */
const databasePatienceMs = 8000;

/** Whom direct access trusts, and the catalogue it asks, from the environment of the function. */
export function directAccess(): { readonly rules: VisaRules; readonly catalogue: RdsDirectCatalogue } {
  return {
    rules: { issuers: trustedIssuers(), now: () => new Date() },
    catalogue: new RdsDirectCatalogue(database({ remainingMs: () => databasePatienceMs })),
  };
}
