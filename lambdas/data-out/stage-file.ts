import { MetricUnit } from '@aws-lambda-powertools/metrics';
import { environment } from '../../lib/contract/environment.ts';
import { metrics as names } from '../../lib/contract/metrics.ts';
import { isDamage } from '../../lib/errors.ts';
import { exportCatalogue } from '../../lib/service/catalogue/export-catalogue.ts';
import type { StageDependencies } from '../../lib/service/export/export-order.ts';
import { secondsSince } from '../../lib/service/export/finalizing.ts';
import { parseFileExport, type ReceivedMessage } from '../../lib/service/export/received.ts';
import { giveUpReason, type StageOutcome, stageFiles } from '../../lib/service/export/stage.ts';
import { copyRecords } from '../../lib/service/ledger/copy-records.ts';
import { fileRecords, noteAttempts } from '../../lib/service/ledger/ledger.ts';
import { s3Client, sqsClient } from '../../lib/service/stores/clients.ts';
import { deliveriesQueue } from '../../lib/service/stores/queues.ts';
import { s3OutboxWriter } from '../../lib/service/stores/s3/outbox-writer.ts';
import { countBy, logger, metrics } from '../shared/observability.ts';
import { reportRejection } from '../shared/outcomes.ts';
import { type HandleMessages, queueHandler } from '../shared/queue.ts';
import { keepMemorySmall, required, requiredNumber } from '../shared/runtime.ts';
import { exportFields, traceOf } from '../shared/traces.ts';
import { database, deployedArchive, visaDenyList } from '../shared/wiring.ts';

// A process that lives for thousands of files would grow to twice its size.
keepMemorySmall();

const client = s3Client();
const { archiveBuckets, archive, archiveKeys } = deployedArchive(client);
const data = database();
const sqs = sqsClient();

/** Consumer of both queues of file exports: stages files, each for one recipient. */
export const handler = queueHandler({
  sqs,
  queues: [
    {
      url: required(environment.fileExportsQueueUrl),
      receives: requiredNumber(environment.fileExportsReceives),
    },
    {
      url: required(environment.smallFileExportsQueueUrl),
      receives: requiredNumber(environment.smallFileExportsReceives),
    },
  ],
  retryDelaysSeconds: required(environment.retryDelaysSeconds),
  stage: 'stage',
  handle: stageMessages({
    catalogue: exportCatalogue(data, noteAttempts),
    archive,
    outbox: s3OutboxWriter({ client, bucket: required(environment.outboxBucket), archiveBuckets }),
    archiveKeys,
    ledger: fileRecords(data, requiredNumber(environment.filesInFlight)),
    deliveries: deliveriesQueue({ client: sqs, queueUrl: required(environment.deliveriesQueueUrl), traceOf }),
    copies: copyRecords(data),
    denied: visaDenyList(),
    now: () => new Date(),
  }),
});

/** Handles messages of file exports: each is staged or rejected, and reported, or comes back. */
export function stageMessages(dependencies: StageDependencies): HandleMessages {
  return async (messages, context) => {
    const ends = await stageFiles(messages, dependencies, () => context.getRemainingTimeInMillis());
    for (const [index, end] of ends.entries()) {
      const message = messages[index];
      if (!message) continue;
      if (end.status === 'fulfilled') report(end.value, message, dependencies.now());
      else {
        if (isDamage(end.reason)) metrics.addMetric(names.archiveDamaged, MetricUnit.Count, 1);
        // A copy that is given up before comes back until then, and counts once.
        if (message.receive.isLast) countBy(names.fileGivenUp, giveUpReason(end.reason));
      }
    }
    return ends;
  };
}

function report(result: StageOutcome, message: ReceivedMessage, now: Date): void {
  const { fileId, outcome } = result;
  if (outcome === 'rejected') {
    reportRejection(names.fileRejected, result);
    return;
  }
  if (outcome === 'staged') {
    metrics.addMetric(names.fileStaged, MetricUnit.Count, 1);
    metrics.addMetric(names.bytesStaged, MetricUnit.Bytes, result.bytes);
    const { requestedAt } = parseFileExport(message);
    metrics.addMetric(names.secondsToStaged, MetricUnit.Seconds, secondsSince(requestedAt, now));
  }
  logger.info(outcome, {
    ...exportFields(result),
    fileId,
    ...('bytes' in result && { bytes: result.bytes }),
  });
}
