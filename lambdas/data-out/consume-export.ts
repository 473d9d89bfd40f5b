import { MetricUnit } from '@aws-lambda-powertools/metrics';
import type { Context } from 'aws-lambda';
import { environment } from '../../lib/contract/environment.ts';
import { metrics as names } from '../../lib/contract/metrics.ts';
import { exportCatalogue } from '../../lib/service/catalogue/export-catalogue.ts';
import {
  type ConsumeDependencies,
  type ConsumeOutcome,
  consumeExportRequest,
} from '../../lib/service/export/consume.ts';
import type { Events } from '../../lib/service/export/ports.ts';
import type { ReceivedExportRequest } from '../../lib/service/export/received.ts';
import { fanOuts, noteAttempts } from '../../lib/service/ledger/ledger.ts';
import type { OutboxQuota } from '../../lib/service/ledger/outbox-contents.ts';
import { s3Client, sqsClient } from '../../lib/service/stores/clients.ts';
import { deliveriesQueue, fileExportsQueue } from '../../lib/service/stores/queues.ts';
import { s3OutboxRemover } from '../../lib/service/stores/s3/outbox-remover.ts';
import { logger, metrics } from '../shared/observability.ts';
import { announce, reportRejection } from '../shared/outcomes.ts';
import { oneByOne, queueHandler } from '../shared/queue.ts';
import { keepMemorySmall, optionalNumber, required, requiredNumber } from '../shared/runtime.ts';
import { exportFields, traceOf } from '../shared/traces.ts';
import { database, deployedEvents, deployedVisaRules } from '../shared/wiring.ts';

// A process that lives for thousands of requests would grow to twice its size.
keepMemorySmall();

const sqs = sqsClient();
const data = database();

/** Consumer of `export-requests`: decides on one export request and fans it out into files. */
export const handler = queueHandler({
  sqs,
  queues: [
    {
      url: required(environment.exportRequestsQueueUrl),
      receives: requiredNumber(environment.exportRequestsReceives),
    },
  ],
  retryDelaysSeconds: required(environment.retryDelaysSeconds),
  stage: 'consume',
  handle: oneByOne(
    consumeMessage(
      {
        catalogue: exportCatalogue(data, noteAttempts),
        fileExports: fileExportsQueue({ client: sqs, queueUrl: required(environment.fileExportsQueueUrl), traceOf }),
        smallFileExports: fileExportsQueue({
          client: sqs,
          queueUrl: required(environment.smallFileExportsQueueUrl),
          traceOf,
        }),
        ledger: fanOuts(data, requiredNumber(environment.filesInFlight), quotaOfOutbox()),
        deliveries: deliveriesQueue({ client: sqs, queueUrl: required(environment.deliveriesQueueUrl), traceOf }),
        outbox: s3OutboxRemover(s3Client(), required(environment.outboxBucket)),
        rules: deployedVisaRules(),
      },
      deployedEvents(),
    ),
  ),
});

function quotaOfOutbox(): OutboxQuota | undefined {
  const gib = optionalNumber(environment.outboxQuotaGib);
  return gib === undefined ? undefined : { gib, expiryDays: requiredNumber(environment.outboxExpiryDays) };
}

/**
 * Handles one message of `export-requests`: carried out or rejected, and reported. A throw brings the message back.
 *
 * @param events `undefined` while the setting `events` is off
 */
export function consumeMessage(
  dependencies: ConsumeDependencies,
  events?: Events,
): (message: ReceivedExportRequest, context: Context) => Promise<void> {
  return async (message, context) => {
    const result = await consumeExportRequest(message, dependencies, () => context.getRemainingTimeInMillis());
    if (result.outcome === 'rejected') reportRejection(names.exportRejected, result);
    else reportAcceptance(result);
    await announce(events, { ...result, state: result.outcome }, context);
  };
}

function reportAcceptance(result: Extract<ConsumeOutcome, { outcome: 'accepted' }>): void {
  metrics.addMetric(names.exportAccepted, MetricUnit.Count, 1);
  logger.info('export accepted', { ...exportFields(result), datasetId: result.datasetId, files: result.files });
}
