import { RdsDirectCatalogue } from '../../lib/stores/rds/direct-catalogue.ts';
import type { VisaRules } from '../../lib/visas/index.ts';
import { promptDatabase } from './database.ts';
import { deployedVisaRules } from './visa-rules.ts';

/** Whom direct access trusts, and the catalogue it asks, from the environment of the function. */
export function directAccess(): { readonly rules: VisaRules; readonly catalogue: RdsDirectCatalogue } {
  return {
    rules: deployedVisaRules(),
    catalogue: new RdsDirectCatalogue(promptDatabase()),
  };
}
