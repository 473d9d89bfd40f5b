import { MetricUnit } from '@aws-lambda-powertools/metrics';
import { parseJson } from '../../lib/common/untrusted-json.ts';
import { receiptMediaType } from '../../lib/contract/delivery.ts';
import { environment } from '../../lib/contract/environment.ts';
import { deliveryMessage } from '../../lib/contract/messages.ts';
import { metrics as names } from '../../lib/contract/metrics.ts';
import { type SettleDependencies, settleRequest } from '../../lib/service/export/settle/settle.ts';
import { kmsClient, s3Client, sqsClient } from '../../lib/service/stores/clients.ts';
import { kmsReceiptSigner } from '../../lib/service/stores/receipt-signer.ts';
import { s3Outbox } from '../../lib/service/stores/s3/outbox.ts';
import { countBy, logger, metrics } from '../shared/observability.ts';
import { type AnnouncedTo, announce } from '../shared/outcomes.ts';
import { type HandleMessage, oneByOne, queueHandler } from '../shared/queue.ts';
import { keepMemorySmall, required } from '../shared/runtime.ts';
import { database, deployedEvents } from '../shared/wiring.ts';

// Each receipt leaves large buffers, which must be freed before the next one.
keepMemorySmall();

/** Consumer of `Deliveries`: settles a request and writes its delivery receipt. */
export const handler = queueHandler({
  sqs: sqsClient(),
  queueUrls: [required(environment.deliveriesQueueUrl)],
  stage: 'settle',
  handle: oneByOne(settleMessage({ db: database(), ...deployedReceipts(), now: () => new Date() }, deployedEvents())),
});

function deployedReceipts(): Pick<SettleDependencies, 'receipts'> {
  const keyArns = process.env[environment.receiptKeyArns];
  if (!keyArns) return {};
  const bucket = required(environment.outboxBucket);
  return {
    receipts: {
      outbox: s3Outbox({ client: s3Client(), bucket, contentType: receiptMediaType }),
      signer: kmsReceiptSigner(kmsClient(), keyArns.split(',')),
      issuer: required(environment.serviceId),
    },
  };
}

/** Handles one message of `Deliveries`. A throw brings the message back. */
export function settleMessage(dependencies: SettleDependencies, events?: AnnouncedTo): HandleMessage {
  return async ({ body }, context) => {
    const { requestId } = deliveryMessage.parse(parseJson(body));
    const { outcome, ...result } = await settleRequest(requestId, dependencies, () =>
      context.getRemainingTimeInMillis(),
    );
    logger.info(outcome, { requestId, ...result });
    if (!('state' in result)) return;
    countBy(names.deliverySettled, result.state);
    if (result.seconds !== undefined) metrics.addMetric(names.secondsToSettled, MetricUnit.Seconds, result.seconds);
    await announce(events, { requestId, state: result.state }, context);
  };
}
