import { MetricUnit } from '@aws-lambda-powertools/metrics';
import type { Context, SQSRecord } from 'aws-lambda';
import { metrics as names } from '../../lib/contract/metrics.ts';
import { ArchiveDamagedError } from '../../lib/errors.ts';
import { type StageDependencies, type StageOutcome, stageFile } from '../../lib/export/stage.ts';
import { logger, metrics } from './observability.ts';
import { receiveCount, receivedMessage } from './queue.ts';
import { reportRejection } from './report-rejection.ts';

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
