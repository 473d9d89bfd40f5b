import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import { listDatasets } from '../../lib/api/direct/list-datasets.ts';
import { directChallenge } from '../../lib/contract/challenges.ts';
import { resultOf } from '../../lib/http/api-gateway.ts';
import { answer } from '../shared/http.ts';
import { directAccess } from '../shared/wiring.ts';

const endpoint = directAccess();

/** `GET /metadata/datasets`, behind the authorizer: what the caller may have now. */
export async function handler(event: APIGatewayProxyEvent): Promise<APIGatewayProxyResult> {
  return resultOf(await answer(event, directChallenge, (request) => listDatasets(request, endpoint)));
}
