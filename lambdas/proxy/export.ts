import { randomUUID } from 'node:crypto';
import { MetricUnit } from '@aws-lambda-powertools/metrics';
import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import { requestExport } from '../../lib/api/export/request-export.ts';
import { proxyChallenge } from '../../lib/contract/challenges.ts';
import { environment } from '../../lib/contract/environment.ts';
import { metrics as names } from '../../lib/contract/metrics.ts';
import { resultOf } from '../../lib/http/api-gateway.ts';
import { sqsClient } from '../../lib/stores/sqs/client.ts';
import { SqsExportRequests } from '../../lib/stores/sqs/export-requests.ts';
import { answer } from '../shared/http.ts';
import { logger, metrics } from '../shared/observability.ts';
import { required } from '../shared/runtime.ts';
import { traceField, traceOf } from '../shared/traces.ts';

const endpoint = {
  archiveKind: required(environment.archiveKind),
  requests: new SqsExportRequests({
    client: sqsClient(),
    queueUrl: required(environment.exportRequestsQueueUrl),
    traceOf,
  }),
  newRequestId: randomUUID,
  clock: () => new Date(),
};

/** `POST /export/{archive_kind}`, behind the administrators' authorizer: one message on `export-requests`, then 200 at once. */
export async function handler(event: APIGatewayProxyEvent): Promise<APIGatewayProxyResult> {
  const reply = await answer(event, proxyChallenge, async (request) => {
    const { reply, exportRequestId } = await requestExport(request, endpoint);
    metrics.addMetric(names.exportRequested, MetricUnit.Count, 1);
    metrics.publishStoredMetrics();
    logger.info('export requested', {
      requestId: request.requestId,
      exportRequestId,
      ...traceField(exportRequestId),
    });
    return reply;
  });
  return resultOf(reply);
}
