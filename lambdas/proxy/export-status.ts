import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import { listExports, showExport } from '../../lib/api/export/show-exports.ts';
import { proxyChallenge } from '../../lib/contract/challenges.ts';
import { environment } from '../../lib/contract/environment.ts';
import { resultOf } from '../../lib/http/api-gateway.ts';
import { RdsExportStatus } from '../../lib/stores/rds/exports/export-status.ts';
import { answer } from '../shared/http.ts';
import { required } from '../shared/runtime.ts';
import { promptDatabase } from '../shared/wiring.ts';

const endpoint = {
  archiveKind: required(environment.archiveKind),
  records: new RdsExportStatus(promptDatabase()),
};

/** `GET /export/{archive_kind}` and `GET /export/{archive_kind}/{requestId}`, behind the administrators' authorizer. */
export async function handler(event: APIGatewayProxyEvent): Promise<APIGatewayProxyResult> {
  const respond = event.pathParameters?.requestId === undefined ? listExports : showExport;
  return resultOf(await answer(event, proxyChallenge, (request) => respond(request, endpoint)));
}
