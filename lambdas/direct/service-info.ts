import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import { htsgetPreflight, htsgetServiceInfo, serviceInfoReply } from '../../lib/service/direct/service-info.ts';
import { requestOf, resultOf } from '../../lib/service/http/api-gateway.ts';
import { withAllowedOrigin } from '../../lib/service/http/origins.ts';
import type { HttpReply } from '../../lib/service/http/reply.ts';
import { htsgetOrigins, serviceInfo } from '../shared/direct-wiring.ts';

const info = serviceInfo();
const origins = htsgetOrigins();

/** What strangers may ask of the direct API: both kinds of `service-info`, and what web pages may send to htsget. */
export async function handler(event: APIGatewayProxyEvent): Promise<APIGatewayProxyResult> {
  const request = requestOf(event);
  const { requestId } = request;
  const [, datatype] = /^\/htsget\/(reads|variants)\/service-info$/.exec(event.resource) ?? [];
  const ofHtsget = (reply: HttpReply) => resultOf(withAllowedOrigin(reply, request, origins), event.httpMethod);
  if (event.httpMethod === 'OPTIONS') return ofHtsget(htsgetPreflight(request, origins));
  if (datatype === undefined) return resultOf(serviceInfoReply(requestId, info), event.httpMethod);
  return ofHtsget(htsgetServiceInfo(requestId, datatype as 'reads' | 'variants', info));
}
