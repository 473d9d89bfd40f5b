import type { ServiceInfo } from '../../lib/api/direct/service-info.ts';
import { environment } from '../../lib/contract/environment.ts';
import software from '../../package.json' with { type: 'json' };
import { required } from './environment.ts';

/** What the operator's settings and this software's version say of the deployment. */
export function serviceInfo(): ServiceInfo {
  return {
    id: required(environment.serviceId),
    organization: { name: required(environment.organizationName), url: required(environment.organizationUrl) },
    version: software.version,
  };
}
