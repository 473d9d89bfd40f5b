import { MetricUnit } from '@aws-lambda-powertools/metrics';
import type { SQSRecord } from 'aws-lambda';
import { metrics as names } from '../../lib/contract/metrics.ts';
import { type ConsumeDependencies, consumeExportRequest } from '../../lib/export/consume.ts';
import { logger, metrics } from './observability.ts';
import { receivedMessage } from './queue.ts';
import { reportRejection } from './report-rejection.ts';

/** Handles one record of `export-requests`: carried out or rejected, and reported. A throw brings the message back. */
export function consumeRecord(dependencies: ConsumeDependencies): (record: SQSRecord) => Promise<void> {
  return async (record) => {
    const strings = Object.entries(record.messageAttributes).map(([name, value]) => [name, value.stringValue]);
    const result = await consumeExportRequest(
      { ...receivedMessage(record), attributes: Object.fromEntries(strings) },
      dependencies,
    );
    if (result.outcome === 'rejected') {
      reportRejection(result);
      return;
    }
    const { requestId, datasetId, files } = result;
    metrics.addMetric(names.exportAccepted, MetricUnit.Count, 1);
    logger.info('export accepted', { requestId, datasetId, files });
  };
}
