import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import { adminPageReply } from '../../lib/api/export/admin-page.ts';
import { type AdminPage, adminPageFile } from '../../lib/contract/admin-page.ts';
import { proxyChallenge } from '../../lib/contract/challenges.ts';
import { environment } from '../../lib/contract/environment.ts';
import { resultOf } from '../../lib/http/api-gateway.ts';
import { answer } from '../shared/http.ts';
import { bundledJson, required } from '../shared/runtime.ts';

const archiveKind = required(environment.archiveKind);
const page = bundledJson(adminPageFile) as AdminPage;

/** `GET /admin`, behind the administrators' authorizer. */
export async function handler(event: APIGatewayProxyEvent): Promise<APIGatewayProxyResult> {
  return resultOf(await answer(event, proxyChallenge, async (request) => adminPageReply(request, page, archiveKind)));
}
