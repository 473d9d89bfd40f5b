import { MetricUnit } from '@aws-lambda-powertools/metrics';
import { environment } from '../../lib/contract/environment.ts';
import { metrics as names } from '../../lib/contract/metrics.ts';
import { secondsSince } from '../../lib/service/export/requests.ts';
import type { StageDependencies } from '../../lib/service/export/stage/order.ts';
import { type StagedMessage, stageFiles } from '../../lib/service/export/stage/stage.ts';
import { s3Client, sqsClient } from '../../lib/service/stores/clients.ts';
import { s3Outbox } from '../../lib/service/stores/s3/outbox.ts';
import { countBy, logger, metrics } from '../shared/observability.ts';
import { reportRejection } from '../shared/outcomes.ts';
import { type HandleMessages, queueHandler } from '../shared/queue.ts';
import { keepMemorySmall, required, requiredNumber } from '../shared/runtime.ts';
import { database, deployedArchive, deployedDeliveries, deployedFileQueues, visaDenyList } from '../shared/wiring.ts';

// A process that lives for thousands of files would grow to twice its size.
keepMemorySmall();

const client = s3Client();
const { archiveBuckets, archive, archiveKeys } = deployedArchive(client);
const sqs = sqsClient();

/** Consumer of both queues of files: stages files, each for one recipient. */
export const handler = queueHandler({
  sqs,
  queueUrls: [required(environment.fileExportsQueueUrl), required(environment.smallFileExportsQueueUrl)],
  stage: 'stage',
  handle: stageMessages({
    ...{ db: database(), archive, archiveKeys, ...deployedFileQueues(sqs), deliveries: deployedDeliveries(sqs) },
    outbox: s3Outbox({ client, bucket: required(environment.outboxBucket), archiveBuckets }),
    denied: visaDenyList(),
    filesInFlight: requiredNumber(environment.filesInFlight),
    now: () => new Date(),
  }),
});

/** Handles messages of files: each is carried out and reported, or comes back. */
export function stageMessages(dependencies: StageDependencies): HandleMessages {
  return async (messages, context) => {
    const staged = await stageFiles(messages, dependencies, () => context.getRemainingTimeInMillis());
    return staged.map((message) => {
      report(message, dependencies.now());
      if (message.end.outcome === 'failed') return { status: 'rejected', reason: message.end.error };
      return { status: 'fulfilled', value: undefined };
    });
  };
}

function report({ requestId = '', fileId, order, end }: StagedMessage, now: Date): void {
  if (end.outcome === 'failed') return;
  if (end.outcome === 'rejected') {
    reportRejection(names.fileRejected, { requestId, fileId, ...end });
    return;
  }
  const { outcome, ...facts } = end;
  if (end.outcome === 'given_up') {
    countBy(names.fileGivenUp, end.reason);
    metrics.addMetric(names.archiveDamaged, MetricUnit.Count, 1);
    logger.error(outcome, { requestId, fileId, ...facts });
    return;
  }
  if (end.outcome === 'staged') {
    metrics.addMetric(names.fileStaged, MetricUnit.Count, 1);
    metrics.addMetric(names.bytesStaged, MetricUnit.Bytes, end.bytes);
    const seconds = secondsSince(order?.requestedAt ?? now.toISOString(), now);
    metrics.addMetric(names.secondsToStaged, MetricUnit.Seconds, seconds);
  }
  logger.info(outcome, { requestId, fileId, ...('bytes' in end && { bytes: end.bytes }) });
}
