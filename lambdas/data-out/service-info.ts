import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import { serviceInfoReply } from '../../lib/service/direct/service-info.ts';
import { resultOf } from '../../lib/service/http/api-gateway.ts';
import { serviceInfo } from '../shared/direct.ts';

const info = serviceInfo();

/** `GET /service-info` of the data-out API: GA4GH service-info, without credentials. */
export async function handler(event: APIGatewayProxyEvent): Promise<APIGatewayProxyResult> {
  return resultOf(serviceInfoReply(event.requestContext.requestId, info));
}
