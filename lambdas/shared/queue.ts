import type { SQSClient } from '@aws-sdk/client-sqs';
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { exportRequestAttributes } from '../../lib/contract/messages.ts';
import { type FailureStage, metrics as names } from '../../lib/contract/metrics.ts';
import { DataOutError } from '../../lib/errors.ts';
import type { ReceivedExportRequest } from '../../lib/service/export/received.ts';
import { delayAfter, idsOf, parseRetryDelays, redeliverAfter } from '../../lib/service/stores/sqs/received.ts';
import { countBy, describeError, logger, metrics } from './observability.ts';
import { exportFields, followTraces } from './traces.ts';

interface Queue {
  readonly url: string;
  /** Receives after which it puts a message aside. @default - the function does not ask which is the last */
  readonly receives?: number;
}

export interface DeliveredMessage extends ReceivedExportRequest {
  /** How often the queue has delivered it, this time included. */
  readonly receives: number;
  /** Whether the queue puts it aside when it is not handled now. */
  readonly isLast: boolean;
}

/** How each message ended, in their order. One that was carried out, or refused for good, is fulfilled. */
export type HandleMessages = (
  messages: readonly DeliveredMessage[],
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

  async function putBack(record: SQSRecord, error: unknown): Promise<void> {
    const { messageId, receiptHandle } = record;
    const received = receivesOf(record);
    const delaySeconds = delayAfter(error, received, delays);
    countBy(names.messageFailed, stage);
    const { exportId, ...ids } = describeRecord(record);
    logger.error('message failed', {
      ...exportFields({ exportId }),
      ...ids,
      messageId,
      received,
      delaySeconds,
      code: error instanceof DataOutError ? error.code : 'internal_error',
      ...describeError(error),
    });
    try {
      await redeliverAfter(delaySeconds, { receiptHandle, queueUrl: (queueOf(record, queues) ?? queues[0]).url }, sqs);
    } catch (failure) {
      // The message still comes back, only later: when the queue's own visibility timeout ends.
      logger.warn('visibility timeout not changed', { messageId, ...describeError(failure) });
    }
  }

  return async ({ Records: records }: SQSEvent, context: Context): Promise<SQSBatchResponse> => {
    logger.addContext(context);
    followTraces(
      records.map((record) => ({
        exportId: describeRecord(record).exportId,
        header: record.attributes.AWSTraceHeader,
      })),
    );
    try {
      const messages = records.map((record) => deliveredMessage(record, queueOf(record, queues)));
      const ends = await handle(messages, context);
      const failed = records.flatMap((record, index) => {
        const end = ends[index];
        return end?.status === 'fulfilled' ? [] : [{ record, reason: end?.reason }];
      });
      await Promise.all(failed.map(({ record, reason }) => putBack(record, reason)));
      return { batchItemFailures: failed.map(({ record }) => ({ itemIdentifier: record.messageId })) };
    } finally {
      if (metrics.hasStoredMetrics()) metrics.publishStoredMetrics();
    }
  };
}

/** Handles messages one after the other, so that memory and calls in flight stay those of one message. */
export function oneByOne(handle: (message: DeliveredMessage, context: Context) => Promise<void>): HandleMessages {
  return async (messages, context) => {
    const ends: PromiseSettledResult<void>[] = [];
    for (const message of messages) ends.push(...(await Promise.allSettled([handle(message, context)])));
    return ends;
  };
}

function deliveredMessage(record: SQSRecord, queue: Queue | undefined): DeliveredMessage {
  const { messageId, body, attributes, messageAttributes } = record;
  const strings = Object.entries(messageAttributes).map(([name, value]) => [name, value.stringValue]);
  return {
    messageId,
    body,
    sentAt: new Date(Number(attributes.SentTimestamp)),
    attributes: Object.fromEntries(strings),
    receives: receivesOf(record),
    isLast: queue?.receives !== undefined && receivesOf(record) >= queue.receives,
  };
}

function receivesOf({ attributes }: SQSRecord): number {
  return Number(attributes.ApproximateReceiveCount);
}

/** The queue that a record came from: its ARN and its URL end in its name. */
function queueOf({ eventSourceARN }: SQSRecord, queues: readonly Queue[]): Queue | undefined {
  return queues.find(({ url }) => url.endsWith(`/${eventSourceARN.split(':').at(-1) ?? ''}`));
}

/** The ids of a record. The export id is the one in the audit trail. */
function describeRecord({ messageId, messageAttributes, body }: SQSRecord) {
  return { exportId: messageId, ...idsOf(body, messageAttributes[exportRequestAttributes.exportId]?.stringValue) };
}
