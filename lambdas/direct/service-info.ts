import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import { signInReply } from '../../lib/service/direct/compatibility/sign-in.ts';
import { htsgetPreflight, htsgetServiceInfo, serviceInfoReply } from '../../lib/service/direct/service-info.ts';
import { requestOf, resultOf } from '../../lib/service/http/api-gateway.ts';
import { withAllowedOrigin } from '../../lib/service/http/origins.ts';
import type { HttpReply } from '../../lib/service/http/reply.ts';
import { htsgetOrigins, serviceInfo } from '../shared/direct-wiring.ts';
import { deployedLogin } from '../shared/runtime.ts';

const info = serviceInfo();
const origins = htsgetOrigins();
const login = deployedLogin();

/**
 * What strangers may ask of the direct API: both kinds of `service-info`, what web pages may send to htsget, and where sda-cli
 * signs in.
 */
export async function handler(event: APIGatewayProxyEvent): Promise<APIGatewayProxyResult> {
  const request = requestOf(event);
  const { requestId } = request;
  const [, datatype] = /^\/htsget\/(reads|variants)\/service-info$/.exec(event.resource) ?? [];
  if (event.resource === '/info') return resultOf(signInReply(requestId, login), event.httpMethod);
  const ofHtsget = (reply: HttpReply) => resultOf(withAllowedOrigin(reply, request, origins), event.httpMethod);
  if (event.httpMethod === 'OPTIONS') return ofHtsget(htsgetPreflight(request, origins));
  if (datatype === undefined) return resultOf(serviceInfoReply(requestId, info), event.httpMethod);
  return ofHtsget(htsgetServiceInfo(requestId, datatype as 'reads' | 'variants', info));
}
