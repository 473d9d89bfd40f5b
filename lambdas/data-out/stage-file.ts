import { MetricUnit } from '@aws-lambda-powertools/metrics';
import type { Context, SQSRecord } from 'aws-lambda';
import { environment } from '../../lib/contract/environment.ts';
import { metrics as names } from '../../lib/contract/metrics.ts';
import { ArchiveDamagedError } from '../../lib/errors.ts';
import type { StageDependencies } from '../../lib/export/order.ts';
import { type StageOutcome, stageFile } from '../../lib/export/stage.ts';
import { RdsCatalogue } from '../../lib/stores/rds/catalogue.ts';
import { RdsCopyRecords } from '../../lib/stores/rds/copy-records.ts';
import { RdsExportLog } from '../../lib/stores/rds/export-log.ts';
import { s3Client } from '../../lib/stores/s3/client.ts';
import { S3OutboxWriter } from '../../lib/stores/s3/outbox-writer.ts';
import { sqsClient } from '../../lib/stores/sqs/client.ts';
import { logger, metrics } from '../shared/observability.ts';
import { queueHandler, receiveCount, receivedMessage, reportRejection } from '../shared/queue.ts';
import { required } from '../shared/runtime.ts';
import { database, deployedArchive, visaDenyList } from '../shared/wiring.ts';

const client = s3Client();
const { archiveBuckets, archive, archiveKeys } = deployedArchive(client);
const data = database();
const denyList = visaDenyList();

/** Consumer of `file-exports`: stages one file for one recipient. */
export const handler = queueHandler({
  sqs: sqsClient(),
  queueUrl: required(environment.fileExportsQueueUrl),
  retryDelaysSeconds: required(environment.retryDelaysSeconds),
  handle: stageRecord({
    catalogue: new RdsCatalogue(data),
    archive,
    outbox: new S3OutboxWriter({ client, bucket: required(environment.outboxBucket), archiveBuckets }),
    archiveKeys,
    log: new RdsExportLog(data),
    copies: new RdsCopyRecords(data),
    denied: () => denyList.current(),
    now: () => new Date(),
  }),
});

/** Handles one record of `file-exports`: staged or rejected, and reported. A throw brings the message back. */
export function stageRecord(dependencies: StageDependencies): (record: SQSRecord, context: Context) => Promise<void> {
  return async (record, context) => {
    const delivery = {
      redelivered: receiveCount(record) > 1,
      remainingMs: () => context.getRemainingTimeInMillis(),
    };
    try {
      report(await stageFile(receivedMessage(record), dependencies, delivery));
    } catch (error) {
      if (error instanceof ArchiveDamagedError) metrics.addMetric(names.archiveDamaged, MetricUnit.Count, 1);
      throw error;
    }
  };
}

function report(result: StageOutcome): void {
  const { requestId, fileId, outcome } = result;
  if (outcome === 'rejected') {
    reportRejection(result);
    return;
  }
  if (outcome === 'staged') {
    metrics.addMetric(names.fileStaged, MetricUnit.Count, 1);
    metrics.addMetric(names.bytesStaged, MetricUnit.Bytes, result.bytes);
  }
  logger.info(outcome, { requestId, fileId, ...('bytes' in result && { bytes: result.bytes }) });
}
