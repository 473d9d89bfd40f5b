import type { SQSClient } from '@aws-sdk/client-sqs';
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { type FailureStage, metrics as names } from '../../lib/contract/metrics.ts';
import { isError } from '../../lib/errors.ts';
import { idsOfDelivered, type ReceivedExportRequest } from '../../lib/service/export/received.ts';
import { delayAfter, parseRetryDelays, redeliverAfter } from '../../lib/service/stores/queues.ts';
import { countBy, describeError, logger, metrics } from './observability.ts';
import { exportFields, followTraces } from './traces.ts';

interface Queue {
  readonly url: string;
  /** Receives after which it puts a message aside. @default - the function does not ask which is the last */
  readonly receives?: number;
}

/** How each message ended, in their order. One that was carried out, or refused for good, is fulfilled. */
export type HandleMessages = (
  messages: readonly ReceivedExportRequest[],
  context: Context,
) => Promise<readonly PromiseSettledResult<unknown>[]>;

export interface QueueHandlerOptions {
  readonly sqs: Pick<SQSClient, 'send'>;
  readonly queues: readonly [Queue, ...Queue[]];
  /** Comma-separated seconds before the 2nd, 3rd, … receive of a message that failed; the last one repeats. */
  readonly retryDelaysSeconds: string;
  /** Where in an export its messages can fail. */
  readonly stage: FailureStage;
  readonly handle: HandleMessages;
}

/**
 * An SQS function with partial batch failures: a message whose handling fails is reported alone, and comes back after
 * the delay that its receive count calls for, until the queue's redrive policy moves it to the dead-letter queue. An
 * error with `retryAfterSeconds` 0 brings it back at once.
 */
export function queueHandler({ sqs, queues, retryDelaysSeconds, stage, handle }: QueueHandlerOptions) {
  const delays = parseRetryDelays(retryDelaysSeconds);

  async function putBack(record: SQSRecord, message: ReceivedExportRequest, error: unknown): Promise<void> {
    const { messageId, receive } = message;
    const delaySeconds = delayAfter(error, receive.count, delays);
    countBy(names.messageFailed, stage);
    const { requestId, ...data } = idsOfDelivered(message);
    logger.error('message failed', {
      ...exportFields({ requestId }),
      ...data,
      messageId,
      received: receive.count,
      delaySeconds,
      code: isError(error) ? error.code : 'internal_error',
      ...describeError(error),
    });
    try {
      const { url: queueUrl } = queueOf(record, queues) ?? queues[0];
      await redeliverAfter(delaySeconds, { receiptHandle: record.receiptHandle, queueUrl }, sqs);
    } catch (failure) {
      // The message still comes back, only later: when the queue's own visibility timeout ends.
      logger.warn('visibility timeout not changed', { messageId, ...describeError(failure) });
    }
  }

  return async ({ Records: records }: SQSEvent, context: Context): Promise<SQSBatchResponse> => {
    logger.addContext(context);
    const delivered = records.map((record) => ({ record, message: receivedMessage(record, queueOf(record, queues)) }));
    followTraces(
      delivered.map(({ record, message }) => ({
        ...idsOfDelivered(message),
        header: record.attributes.AWSTraceHeader,
      })),
    );
    try {
      const ends = await handle(
        delivered.map(({ message }) => message),
        context,
      );
      const failed = delivered.flatMap(({ record, message }, index) => {
        const end = ends[index];
        return end?.status === 'fulfilled' ? [] : [{ record, message, reason: end?.reason }];
      });
      await Promise.all(failed.map(({ record, message, reason }) => putBack(record, message, reason)));
      return { batchItemFailures: failed.map(({ message }) => ({ itemIdentifier: message.messageId })) };
    } finally {
      if (metrics.hasStoredMetrics()) metrics.publishStoredMetrics();
    }
  };
}

/** Handles messages one after the other, so that memory and calls in flight stay those of one message. */
export function oneByOne(handle: (message: ReceivedExportRequest, context: Context) => Promise<void>): HandleMessages {
  return async (messages, context) => {
    const ends: PromiseSettledResult<void>[] = [];
    for (const message of messages) ends.push(...(await Promise.allSettled([handle(message, context)])));
    return ends;
  };
}

function receivedMessage(record: SQSRecord, queue: Queue | undefined): ReceivedExportRequest {
  const { messageId, body, attributes, messageAttributes } = record;
  const count = Number(attributes.ApproximateReceiveCount);
  const strings = Object.entries(messageAttributes).map(([name, value]) => [name, value.stringValue]);
  return {
    messageId,
    body,
    sentAt: new Date(Number(attributes.SentTimestamp)),
    attributes: Object.fromEntries(strings),
    receive: { count, isLast: queue?.receives !== undefined && count >= queue.receives },
  };
}

/** The queue that a record came from: its ARN and its URL end in its name. */
function queueOf({ eventSourceARN }: SQSRecord, queues: readonly Queue[]): Queue | undefined {
  return queues.find(({ url }) => url.endsWith(`/${eventSourceARN.split(':').at(-1) ?? ''}`));
}
