import { type HttpReply, jsonReply } from '../../http/reply.ts';

/** The facts of a deployment in its service-info. */
export interface ServiceInfo {
  /** Reverse-domain name, unique for this deployment. */
  readonly id: string;
  readonly organization: { readonly name: string; readonly url: string };
  /** Version of this software. */
  readonly version: string;
}

/**
 * GA4GH service-info 1.0.0. `type.group` is the namespace of the id. `org.ga4gh` is for GA4GH standards, and this API is none.
 */
export function serviceInfoReply(requestId: string, { id, organization, version }: ServiceInfo): HttpReply {
  const group = id.includes('.') ? id.slice(0, id.lastIndexOf('.')) : id;
  return jsonReply(requestId, {
    id,
    name: 'data-out',
    type: { group, artifact: 'data-out', version },
    description: 'Export and download of Crypt4GH files under GA4GH visas',
    organization,
    version,
  });
}
