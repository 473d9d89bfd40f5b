import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import { directChallenge } from '../../lib/contract/http.ts';
import {
  type DrsAccess,
  describeObject,
  drsErrorReply,
  giveAccessUrl,
  objectAuthorizations,
} from '../../lib/service/direct/drs.ts';
import { drsServiceInfo } from '../../lib/service/direct/service-info.ts';
import { baseUrlOf, resultOf } from '../../lib/service/http/api-gateway.ts';
import type { HttpReply } from '../../lib/service/http/reply.ts';
import type { HttpRequest } from '../../lib/service/http/request.ts';
import { directAccess, serviceInfo } from '../shared/direct-wiring.ts';
import { answer } from '../shared/http.ts';
import { logger } from '../shared/observability.ts';

const endpoint = {
  ...directAccess(),
  served: (access: DrsAccess) => logger.info('described', { ...access }),
};
const info = serviceInfo();

/**
 * GA4GH DRS 1.5.0. A GET of an object is also behind the authorizer; a POST carries its passports in the body, so strangers
 * reach this function. It has no key of the archive and sees no bucket.
 */
export async function handler(event: APIGatewayProxyEvent): Promise<APIGatewayProxyResult> {
  const reply = await answer(event, directChallenge, (request) => operation(event, request));
  return resultOf(reply.status < 400 ? reply : drsErrorReply(reply), event.httpMethod);
}

async function operation(event: APIGatewayProxyEvent, request: HttpRequest): Promise<HttpReply> {
  if (event.resource.endsWith('/service-info')) return drsServiceInfo(request.requestId, info);
  if (request.method === 'OPTIONS') return objectAuthorizations(request, endpoint.rules.issuers);
  const baseUrl = baseUrlOf(event);
  if (event.resource.endsWith('/access/{access_id}')) return giveAccessUrl(request, baseUrl, endpoint);
  return describeObject(request, baseUrl, endpoint);
}
