import { environment } from '../../lib/contract/environment.ts';
import { directCatalogue } from '../../lib/service/catalogue/direct-catalogue.ts';
import type { DirectCatalogue } from '../../lib/service/direct/ports.ts';
import type { ServiceInfo } from '../../lib/service/direct/service-info.ts';
import type { VisaRules } from '../../lib/visas/index.ts';
import software from '../../package.json' with { type: 'json' };
import { required } from './runtime.ts';
import { deployedVisaRules, promptDatabase } from './wiring.ts';

/** What direct access verifies tokens with, and the catalogue that it asks. */
export function directAccess(): { readonly rules: VisaRules; readonly catalogue: DirectCatalogue } {
  return { rules: deployedVisaRules(), catalogue: directCatalogue(promptDatabase()) };
}

/** Origins of the web pages that may use htsget. */
export function htsgetOrigins(): ReadonlySet<string> {
  const listed = process.env[environment.htsgetOrigins] ?? '';
  return new Set(listed.split(',').filter((origin) => origin !== ''));
}

/** What the operator's settings and this software's version say of the deployment. */
export function serviceInfo(): ServiceInfo {
  return {
    id: required(environment.serviceId),
    organization: { name: required(environment.organizationName), url: required(environment.organizationUrl) },
    version: software.version,
  };
}
