import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import { environment } from '../../lib/contract/environment.ts';
import { resultOf } from '../../lib/http/api-gateway.ts';
import { serviceInfoReply } from '../../lib/http/service-info.ts';
import software from '../../package.json' with { type: 'json' };
import { required } from '../shared/environment.ts';

const info = {
  id: required(environment.serviceId),
  organization: { name: required(environment.organizationName), url: required(environment.organizationUrl) },
  version: software.version,
};

/** `GET /service-info` of the data-out API: GA4GH service-info, for everybody. */
export async function handler(event: APIGatewayProxyEvent): Promise<APIGatewayProxyResult> {
  return resultOf(serviceInfoReply(event.requestContext.requestId, info));
}
