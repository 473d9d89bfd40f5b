import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import { openApiFile } from '../lib/contract/environment.ts';
import { baseUrlOf, resultOf } from '../lib/service/http/api-gateway.ts';
import { jsonReply } from '../lib/service/http/reply.ts';
import { bundledJson } from './shared/runtime.ts';

const document = bundledJson(openApiFile) as object;

/**
 * `GET|HEAD /openapi.json` of either API, without credentials: the document with the address that the caller used, so that tools
 * call that one.
 */
export async function handler(event: APIGatewayProxyEvent): Promise<APIGatewayProxyResult> {
  const { requestId } = event.requestContext;
  return resultOf(jsonReply(requestId, { ...document, servers: [{ url: baseUrlOf(event) }] }), event.httpMethod);
}
