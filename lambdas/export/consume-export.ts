import { MetricUnit } from '@aws-lambda-powertools/metrics';
import { environment } from '../../lib/contract/environment.ts';
import { metrics as names } from '../../lib/contract/metrics.ts';
import { rdsCatalogue } from '../../lib/service/catalogue/catalogue.ts';
import { type ConsumeDependencies, consumeExportRequest } from '../../lib/service/export/accept.ts';
import type { OutboxQuota } from '../../lib/service/export/quota.ts';
import { sqsClient } from '../../lib/service/stores/clients.ts';
import { logger, metrics } from '../shared/observability.ts';
import { type AnnouncedTo, announce, reportRejection } from '../shared/outcomes.ts';
import { type HandleMessage, oneByOne, queueHandler } from '../shared/queue.ts';
import { keepMemorySmall, optionalNumber, required, requiredNumber } from '../shared/runtime.ts';
import { database, deployedEvents, deployedFileQueues, deployedVisaRules } from '../shared/wiring.ts';

// A process that lives for thousands of requests would grow to twice its size.
keepMemorySmall();

const sqs = sqsClient();
const db = database();
const dependencies: ConsumeDependencies = {
  ...{ db, catalogue: rdsCatalogue(db), ...deployedFileQueues(sqs) },
  ...{ rules: deployedVisaRules(), quota: quotaOfOutbox() },
};

/** Consumer of `ExportRequests`: decides on one export request, writes its rows and sends its files to be staged. */
export const handler = queueHandler({
  sqs,
  queueUrls: [required(environment.exportRequestsQueueUrl)],
  stage: 'consume',
  handle: oneByOne(consumeMessage(dependencies, deployedEvents())),
});

function quotaOfOutbox(): OutboxQuota | undefined {
  const gib = optionalNumber(environment.outboxQuotaGib);
  return gib === undefined ? undefined : { gib, expiryDays: requiredNumber(environment.outboxExpiryDays) };
}

/** Handles one message of `ExportRequests`: carried out or rejected, and reported. A throw brings the message back. */
export function consumeMessage(dependencies: ConsumeDependencies, events?: AnnouncedTo): HandleMessage {
  return async (message, context) => {
    const result = await consumeExportRequest(message, dependencies, () => context.getRemainingTimeInMillis());
    const { outcome, ...facts } = result;
    if (result.outcome === 'rejected') reportRejection(names.exportRejected, result);
    else {
      metrics.addMetric(names.exportAccepted, MetricUnit.Count, 1);
      logger.info('export accepted', facts);
    }
    await announce(events, { requestId: result.requestId, state: outcome }, context);
  };
}
