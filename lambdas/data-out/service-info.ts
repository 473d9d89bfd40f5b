import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import { resultOf } from '../../lib/http/api-gateway.ts';
import { serviceInfoReply } from '../../lib/http/service-info.ts';
import { serviceInfo } from '../shared/service-info.ts';

const info = serviceInfo();

/** `GET /service-info` of the data-out API: GA4GH service-info, for everybody. */
export async function handler(event: APIGatewayProxyEvent): Promise<APIGatewayProxyResult> {
  return resultOf(serviceInfoReply(event.requestContext.requestId, info));
}
