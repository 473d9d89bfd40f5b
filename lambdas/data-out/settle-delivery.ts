import { MetricUnit } from '@aws-lambda-powertools/metrics';
import type { Context, SQSRecord } from 'aws-lambda';
import { receiptMediaType } from '../../lib/contract/delivery.ts';
import { environment } from '../../lib/contract/environment.ts';
import { deliveryMessage } from '../../lib/contract/messages.ts';
import { metrics as names } from '../../lib/contract/metrics.ts';
import type { Events } from '../../lib/export/ports.ts';
import { type SettleDependencies, settleDelivery } from '../../lib/export/receipt/settle.ts';
import { parseJson } from '../../lib/export/received.ts';
import { kmsClient } from '../../lib/stores/kms/client.ts';
import { KmsReceiptSigner } from '../../lib/stores/kms/receipt-signer.ts';
import { RdsDeliveryLog } from '../../lib/stores/rds/exports/delivery-log.ts';
import { s3Client } from '../../lib/stores/s3/client.ts';
import { S3OutboxWriter } from '../../lib/stores/s3/outbox-writer.ts';
import { sqsClient } from '../../lib/stores/sqs/client.ts';
import { announce } from '../shared/events.ts';
import { countBy, logger, metrics } from '../shared/observability.ts';
import { oneByOne, queueHandler } from '../shared/queue.ts';
import { keepMemorySmall, required } from '../shared/runtime.ts';
import { traceField } from '../shared/traces.ts';
import { database, deployedEvents } from '../shared/wiring.ts';

// A receipt is read, signed and sent in pieces, which are garbage at once.
keepMemorySmall();

/** Consumer of `deliveries`: settles a request and writes its delivery receipt. */
export const handler = queueHandler({
  sqs: sqsClient(),
  queueUrls: [required(environment.deliveriesQueueUrl)],
  retryDelaysSeconds: required(environment.retryDelaysSeconds),
  stage: 'settle',
  handle: oneByOne(
    settleRecord(
      { log: new RdsDeliveryLog(database()), ...deployedReceipts(), now: () => new Date() },
      deployedEvents(),
    ),
  ),
});

/** What receipts are written with; nothing where the settings want none. */
function deployedReceipts(): Pick<SettleDependencies, 'receipts'> {
  const keyArns = process.env[environment.receiptKeyArns];
  if (!keyArns) return {};
  const bucket = required(environment.outboxBucket);
  return {
    receipts: {
      outbox: new S3OutboxWriter({ client: s3Client(), bucket, contentType: receiptMediaType }),
      signer: new KmsReceiptSigner({ client: kmsClient(), keyArns: keyArns.split(',') }),
      issuer: required(environment.serviceId),
    },
  };
}

/**
 * Handles one record of `deliveries`. A throw brings the message back.
 *
 * @param events `undefined` while the setting `events` is off
 */
export function settleRecord(
  dependencies: SettleDependencies,
  events?: Events,
): (record: SQSRecord, context: Context) => Promise<void> {
  return async (record, context) => {
    const { requestId } = deliveryMessage.parse(parseJson(record.body));
    const { outcome, ...result } = await settleDelivery(requestId, dependencies, () =>
      context.getRemainingTimeInMillis(),
    );
    logger.info(outcome, { requestId, ...traceField(requestId), ...result });
    if (!('state' in result)) return;
    countBy(names.deliverySettled, result.state);
    if (result.seconds !== undefined) metrics.addMetric(names.secondsToSettled, MetricUnit.Seconds, result.seconds);
    await announce(events, [{ requestId, state: result.state }], context);
  };
}
