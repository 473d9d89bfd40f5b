import { randomUUID } from 'node:crypto';
import { MetricUnit } from '@aws-lambda-powertools/metrics';
import { environment } from '../../lib/contract/environment.ts';
import { proxyChallenge } from '../../lib/contract/http.ts';
import { metrics as names } from '../../lib/contract/metrics.ts';
import { type ExportEndpoint, requestExport } from '../../lib/service/export/request-export.ts';
import { sqsClient } from '../../lib/service/stores/clients.ts';
import { exportRequestsQueue } from '../../lib/service/stores/queues.ts';
import { bufferedHandler } from '../shared/http.ts';
import { logger, metrics } from '../shared/observability.ts';
import { required } from '../shared/runtime.ts';

const endpoint: ExportEndpoint = {
  archiveKind: required(environment.archiveKind),
  requests: exportRequestsQueue({ client: sqsClient(), queueUrl: required(environment.exportRequestsQueueUrl) }),
  newRequestId: randomUUID,
  clock: () => new Date(),
  requested: ({ requestId }, published) => {
    metrics.addMetric(names.exportRequested, MetricUnit.Count, 1);
    metrics.publishStoredMetrics();
    // The first id is that of the call, the second one names the export from here to its receipt.
    logger.info('export requested', { requestId, exportRequestId: published.requestId });
  },
};

/** `POST /export/{archive_kind}`, behind the administrators' authorizer: one message on `ExportRequests`, then 200 at once. */
export const handler = bufferedHandler(proxyChallenge, (request) => requestExport(request, endpoint));
