import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import { openApiReply } from '../../lib/api/openapi.ts';
import { resultOf } from '../../lib/http/api-gateway.ts';
import { baseUrlOf } from '../../lib/http/base-url.ts';
import { openApiDocument } from './openapi-document.ts';

/** The handler of `GET /openapi.json`, for everybody. */
export function openApiHandler(): (event: APIGatewayProxyEvent) => Promise<APIGatewayProxyResult> {
  const document = openApiDocument();
  return async (event) => resultOf(openApiReply(event.requestContext.requestId, document, baseUrlOf(event)));
}
