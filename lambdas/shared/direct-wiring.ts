import { environment } from '../../lib/contract/environment.ts';
import { directCatalogue } from '../../lib/service/catalogue/direct-catalogue.ts';
import type { Login } from '../../lib/service/direct/compatibility/sign-in.ts';
import type { TicketKeys } from '../../lib/service/direct/htsget/token.ts';
import type { DirectCatalogue } from '../../lib/service/direct/ports.ts';
import type { ServiceInfo } from '../../lib/service/direct/service-info.ts';
import { secretsManagerClient, withinAuthorizer } from '../../lib/service/stores/clients.ts';
import { secretTicketKeys } from '../../lib/service/stores/secrets.ts';
import type { VisaRules } from '../../lib/visas/index.ts';
import software from '../../package.json' with { type: 'json' };
import { required } from './runtime.ts';
import { deployedVisaRules, promptDatabase } from './wiring.ts';

// What the functions of the direct API are made of, besides what all functions share.

export function directAccess(): { readonly rules: VisaRules; readonly catalogue: DirectCatalogue } {
  return { rules: deployedVisaRules(), catalogue: directCatalogue(promptDatabase()) };
}

export function deployedTicketKeys(): TicketKeys {
  const secretArn = required(environment.ticketKeySecretArn);
  return secretTicketKeys({ client: secretsManagerClient({}, withinAuthorizer), secretArn });
}

/** Origins of the web pages that may use htsget. */
export function htsgetOrigins(): ReadonlySet<string> {
  const listed = process.env[environment.htsgetOrigins] ?? '';
  return new Set(listed.split(',').filter((origin) => origin !== ''));
}

/** Where researchers sign in. `undefined`: the deployment does not say. */
export function deployedLogin(): Login | undefined {
  const { [environment.loginIssuer]: issuer, [environment.loginClientId]: clientId } = process.env;
  return issuer === undefined || clientId === undefined ? undefined : { issuer, clientId };
}

export function serviceInfo(): ServiceInfo {
  return {
    id: required(environment.serviceId),
    organization: { name: required(environment.organizationName), url: required(environment.organizationUrl) },
    version: software.version,
  };
}
