import { BatchProcessor, EventType, processPartialResponse } from '@aws-lambda-powertools/batch';
import { MetricUnit } from '@aws-lambda-powertools/metrics';
import { ChangeMessageVisibilityCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { metrics as names } from '../../lib/contract/metrics.ts';
import { DataOutError } from '../../lib/errors.ts';
import type { ReceivedMessage } from '../../lib/export/received.ts';
import { describeError } from './describe-error.ts';
import { describeRecord } from './describe-record.ts';
import { logger, metrics } from './observability.ts';

/** Longest visibility timeout that SQS takes, in seconds (12 h). */
const longestDelaySeconds = 43_200;

export interface QueueHandlerOptions {
  readonly sqs: Pick<SQSClient, 'send'>;
  /** The queue that the function consumes. */
  readonly queueUrl: string;
  /** Comma-separated seconds before the 2nd, 3rd, … receive of a message that failed; the last one repeats. */
  readonly retryDelaysSeconds: string;
  /** Resolves when the message is done with (carried out or rejected). A throw brings it back. */
  readonly handle: (record: SQSRecord, context: Context) => Promise<void>;
}

export type QueueHandler = (event: SQSEvent, context: Context) => Promise<SQSBatchResponse>;

/**
 * An SQS function with partial batch failures: a message whose handling throws is reported alone, and comes back after
 * the delay that its receive count calls for, until the queue's redrive policy moves it to the dead-letter queue.
 */
export function queueHandler(options: QueueHandlerOptions): QueueHandler {
  const delays = parseRetryDelays(options.retryDelaysSeconds);
  const processor = new BatchProcessor(EventType.SQS);
  return async (event, context) => {
    logger.addContext(context);
    try {
      const handle = async (record: SQSRecord) => {
        try {
          await options.handle(record, context);
        } catch (error) {
          await putBack(record, error, delays, options);
          throw error;
        }
      };
      return await processPartialResponse(event, handle, processor, {
        context,
        // One after the other: what a function holds in memory and in flight stays that of one message.
        processInParallel: false,
        // A batch that failed as a whole is reported like any other: an error would be a second, louder report of it.
        throwOnFullBatchFailure: false,
      });
    } finally {
      if (metrics.hasStoredMetrics()) metrics.publishStoredMetrics();
    }
  };
}

/** The message of a record, as the domain takes it. */
export function receivedMessage({ messageId, body, attributes }: SQSRecord): ReceivedMessage {
  return { messageId, body, sentAt: new Date(Number(attributes.SentTimestamp)) };
}

/** How often the queue has delivered this message, this time included. */
export function receiveCount(record: SQSRecord): number {
  return Number(record.attributes.ApproximateReceiveCount);
}

/** @throws Error at start-up when the variable is not a list of seconds */
export function parseRetryDelays(text: string): readonly [number, ...number[]] {
  const [first, ...others] = text.split(',').map((part) => (part.trim() === '' ? Number.NaN : Number(part)));
  const delays = [first ?? Number.NaN, ...others] as const;
  if (!delays.every((delay) => Number.isInteger(delay) && delay >= 0 && delay <= longestDelaySeconds)) {
    throw new Error('retry delays: expected whole seconds from 0 to 43200, separated by commas');
  }
  return [...delays];
}

async function putBack(
  record: SQSRecord,
  error: unknown,
  delays: readonly [number, ...number[]],
  { sqs, queueUrl }: QueueHandlerOptions,
): Promise<void> {
  const received = receiveCount(record);
  const delaySeconds = delays[received - 1] ?? delays.at(-1) ?? delays[0];
  metrics.addMetric(names.messageFailed, MetricUnit.Count, 1);
  logger.error('message failed', {
    ...describeRecord(record),
    messageId: record.messageId,
    received,
    delaySeconds,
    code: error instanceof DataOutError ? error.code : 'internal_error',
    ...describeError(error),
  });
  try {
    await sqs.send(
      new ChangeMessageVisibilityCommand({
        QueueUrl: queueUrl,
        ReceiptHandle: record.receiptHandle,
        VisibilityTimeout: delaySeconds,
      }),
    );
  } catch (failure) {
    // The message comes back all the same, only later: when the queue's own visibility timeout ends.
    logger.warn('visibility timeout not changed', { messageId: record.messageId, ...describeError(failure) });
  }
}
