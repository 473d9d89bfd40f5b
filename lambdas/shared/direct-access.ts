import { RdsDirectCatalogue } from '../../lib/stores/rds/direct-catalogue.ts';
import type { VisaRules } from '../../lib/visas/index.ts';
import { database } from './database.ts';
import { deployedVisaRules } from './visa-rules.ts';

/**
 * Milliseconds that a query may take while a caller waits. A paused cluster needs longer to resume: the caller gets a 503
 * and the cluster is awake for the next try.
 */
const databasePatienceMs = 8000;

/** Whom direct access trusts, and the catalogue it asks, from the environment of the function. */
export function directAccess(): { readonly rules: VisaRules; readonly catalogue: RdsDirectCatalogue } {
  return {
    rules: deployedVisaRules(),
    catalogue: new RdsDirectCatalogue(database({ remainingMs: () => databasePatienceMs })),
  };
}
