import { keyHeaders } from '../../contract/http.ts';
import { type Datatype, htsgetFacts } from '../../regions/htsget/names.ts';
import { preflightHeaders } from '../http/origins.ts';
import { commonHeaders, type HttpReply, jsonReply } from '../http/reply.ts';
import type { HttpRequest } from '../http/request.ts';

export interface ServiceInfo {
  /** Reverse-domain name, unique for this deployment. */
  readonly id: string;
  readonly organization: { readonly name: string; readonly url: string };
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

/**
 * `GET /ga4gh/drs/v1/service-info`: GA4GH service-info 1.0.0 with what DRS adds. `maxBulkRequestLength` is required and at
 * least 1 by its definition; the bulk requests themselves are optional, deprecated, and not served.
 */
export function drsServiceInfo(requestId: string, { id, ...deployment }: ServiceInfo): HttpReply {
  return jsonReply(requestId, {
    id: `${id}.drs`,
    name: 'data-out DRS',
    // The version of the standard, not of this software.
    type: { group: 'org.ga4gh', artifact: 'drs', version: '1.5.0' },
    description: 'Files of a Crypt4GH archive as plaintext, under GA4GH visas and passports',
    ...deployment,
    maxBulkRequestLength: 1,
  });
}

/** `GET /htsget/{reads,variants}/service-info`: GA4GH service-info 1.0.0 with what htsget 1.3 adds. */
export function htsgetServiceInfo(
  requestId: string,
  datatype: Datatype,
  { id, ...deployment }: ServiceInfo,
): HttpReply {
  return jsonReply(requestId, {
    id: `${id}.htsget.${datatype}`,
    name: `data-out htsget ${datatype}`,
    description: 'Regions of a Crypt4GH archive, as plaintext or for a key of the caller, under GA4GH visas',
    ...deployment,
    ...htsgetFacts(datatype),
  });
}

const allowed = {
  methods: 'GET, HEAD, POST',
  headers: ['Authorization', 'Content-Type', 'Range', 'If-Range', ...keyHeaders],
};

/** `OPTIONS` of the routes of htsget: what a web page of these origins may send. The reply depends on the origin alone. */
export function htsgetPreflight(request: HttpRequest, origins: ReadonlySet<string>): HttpReply {
  const headers = { ...commonHeaders(request.requestId), ...preflightHeaders(request, origins, allowed) };
  return { status: 204, headers, body: '' };
}
