import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import { objectAuthorizations } from '../../lib/api/drs/authorizations.ts';
import { describeObject } from '../../lib/api/drs/describe-object.ts';
import { drsErrorReply } from '../../lib/api/drs/error.ts';
import { giveAccessUrl } from '../../lib/api/drs/give-access-url.ts';
import type { DrsAccess } from '../../lib/api/drs/granted-object.ts';
import { drsServiceInfo } from '../../lib/api/drs/service-info.ts';
import { directChallenge } from '../../lib/contract/challenges.ts';
import { environment } from '../../lib/contract/environment.ts';
import { resultOf } from '../../lib/http/api-gateway.ts';
import { baseUrlOf } from '../../lib/http/base-url.ts';
import type { HttpReply } from '../../lib/http/reply.ts';
import type { HttpRequest } from '../../lib/http/request.ts';
import { lambdaClient } from '../../lib/stores/lambda/client.ts';
import { LambdaFileDescriptions } from '../../lib/stores/lambda/file-descriptions.ts';
import { answer } from '../shared/http.ts';
import { logger } from '../shared/observability.ts';
import { required } from '../shared/runtime.ts';
import { directAccess, serviceInfo } from '../shared/wiring.ts';

const endpoint = {
  ...directAccess(),
  descriptions: new LambdaFileDescriptions({
    client: lambdaClient(),
    functionArn: required(environment.describeFileFunctionArn),
  }),
  served: (access: DrsAccess) => logger.info('described', { ...access }),
};
const info = serviceInfo();

/**
 * GA4GH DRS 1.5.0. A GET of an object is behind the authorizer, too; a POST carries its passports in the body, so strangers
 * reach this function. It has no key of the archive. Once a caller may know a file, it asks another function to describe it.
 */
export async function handler(event: APIGatewayProxyEvent): Promise<APIGatewayProxyResult> {
  const reply = await answer(event, directChallenge, (request) => operation(event, request));
  return resultOf(reply.status < 400 ? reply : drsErrorReply(reply));
}

async function operation(event: APIGatewayProxyEvent, request: HttpRequest): Promise<HttpReply> {
  if (event.resource.endsWith('/service-info')) return drsServiceInfo(request.requestId, info);
  if (request.method === 'OPTIONS') return objectAuthorizations(request, endpoint.rules.issuers);
  const baseUrl = baseUrlOf(event);
  if (event.resource.endsWith('/access/{access_id}')) return giveAccessUrl(request, baseUrl, endpoint);
  return describeObject(request, baseUrl, endpoint);
}
