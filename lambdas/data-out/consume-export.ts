import { MetricUnit } from '@aws-lambda-powertools/metrics';
import type { Context, SQSRecord } from 'aws-lambda';
import { environment } from '../../lib/contract/environment.ts';
import { metrics as names } from '../../lib/contract/metrics.ts';
import { type ConsumeDependencies, type ConsumeOutcome, consumeExportRequest } from '../../lib/export/consume.ts';
import type { Events } from '../../lib/export/ports.ts';
import { RdsCatalogue } from '../../lib/stores/rds/catalogue.ts';
import { RdsExportLog } from '../../lib/stores/rds/export-log.ts';
import { RdsFanOuts } from '../../lib/stores/rds/fan-outs.ts';
import { sqsClient } from '../../lib/stores/sqs/client.ts';
import { SqsFileExports } from '../../lib/stores/sqs/file-exports.ts';
import { announce } from '../shared/events.ts';
import { logger, metrics } from '../shared/observability.ts';
import { oneByOne, queueHandler, receivedMessage, reportRejection } from '../shared/queue.ts';
import { required } from '../shared/runtime.ts';
import { database, deployedEvents, deployedVisaRules } from '../shared/wiring.ts';

const sqs = sqsClient();
const data = database();

/** Consumer of `export-requests`: decides on one export request and fans it out into files. */
export const handler = queueHandler({
  sqs,
  queueUrls: [required(environment.exportRequestsQueueUrl)],
  retryDelaysSeconds: required(environment.retryDelaysSeconds),
  handle: oneByOne(
    consumeRecord(
      {
        catalogue: new RdsCatalogue(data),
        fileExports: new SqsFileExports({ client: sqs, queueUrl: required(environment.fileExportsQueueUrl) }),
        smallFileExports: new SqsFileExports({ client: sqs, queueUrl: required(environment.smallFileExportsQueueUrl) }),
        fanOuts: new RdsFanOuts(data),
        log: new RdsExportLog(data),
        rules: deployedVisaRules(),
      },
      deployedEvents(),
    ),
  ),
});

/**
 * Handles one record of `export-requests`: carried out or rejected, and reported. A throw brings the message back.
 *
 * @param events `undefined` while the setting `events` is off
 */
export function consumeRecord(
  dependencies: ConsumeDependencies,
  events?: Events,
): (record: SQSRecord, context: Context) => Promise<void> {
  return async (record, context) => {
    const strings = Object.entries(record.messageAttributes).map(([name, value]) => [name, value.stringValue]);
    const result = await consumeExportRequest(
      { ...receivedMessage(record), attributes: Object.fromEntries(strings) },
      dependencies,
      () => context.getRemainingTimeInMillis(),
    );
    if (result.outcome === 'rejected') reportRejection(result);
    else reportAcceptance(result);
    await announce(events, [{ requestId: result.requestId, state: result.outcome }], context);
  };
}

function reportAcceptance({ requestId, datasetId, files }: Extract<ConsumeOutcome, { outcome: 'accepted' }>): void {
  metrics.addMetric(names.exportAccepted, MetricUnit.Count, 1);
  logger.info('export accepted', { requestId, datasetId, files });
}
