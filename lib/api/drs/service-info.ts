import { type HttpReply, jsonReply } from '../../http/reply.ts';
import type { ServiceInfo } from '../direct/service-info.ts';

/** The version of the standard, not of this software. */
const drsVersion = '1.5.0';

/**
 * `GET /ga4gh/drs/v1/service-info`: GA4GH service-info 1.0.0 with what DRS adds. `maxBulkRequestLength` is required and at
 * least 1 by its definition; the bulk requests themselves are optional, deprecated, and not served.
 */
export function drsServiceInfo(requestId: string, { id, organization, version }: ServiceInfo): HttpReply {
  return jsonReply(requestId, {
    id: `${id}.drs`,
    name: 'data-out DRS',
    type: { group: 'org.ga4gh', artifact: 'drs', version: drsVersion },
    description: 'Files of a Crypt4GH archive as plaintext, under GA4GH visas and passports',
    organization,
    version,
    maxBulkRequestLength: 1,
  });
}
