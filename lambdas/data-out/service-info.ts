import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import { htsgetPreflight, htsgetServiceInfo, serviceInfoReply } from '../../lib/service/direct/service-info.ts';
import { requestOf, resultOf } from '../../lib/service/http/api-gateway.ts';
import { withAllowedOrigin } from '../../lib/service/http/origins.ts';
import { htsgetOrigins, serviceInfo } from '../shared/direct-wiring.ts';

const info = serviceInfo();
const origins = htsgetOrigins();

/** What strangers may ask of the data-out API: both kinds of `service-info`, and what web pages may send to htsget. */
export async function handler(event: APIGatewayProxyEvent): Promise<APIGatewayProxyResult> {
  const request = requestOf(event);
  const { requestId } = request;
  const [, datatype] = /^\/htsget\/(reads|variants)\/service-info$/.exec(event.resource) ?? [];
  if (event.httpMethod === 'OPTIONS')
    return resultOf(withAllowedOrigin(htsgetPreflight(request, origins), request, origins));
  if (datatype === undefined) return resultOf(serviceInfoReply(requestId, info));
  return resultOf(
    withAllowedOrigin(htsgetServiceInfo(requestId, datatype as 'reads' | 'variants', info), request, origins),
  );
}
