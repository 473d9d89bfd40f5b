import { BatchProcessor, EventType, processPartialResponse } from '@aws-lambda-powertools/batch';
import { MetricUnit } from '@aws-lambda-powertools/metrics';
import { ChangeMessageVisibilityCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import * as z from 'zod';
import { exportRequestAttributes, exportRequestMessage, fileExportMessage } from '../../lib/contract/messages.ts';
import { metrics as names } from '../../lib/contract/metrics.ts';
import { DataOutError, TemporarilyUnavailableError } from '../../lib/errors.ts';
import { parseJson, type ReceivedMessage } from '../../lib/export/received.ts';
import { describeError, logger, metrics } from './observability.ts';

/** Longest visibility timeout that SQS takes, in seconds (12 h). */
const longestDelaySeconds = 43_200;

const uuid = z.uuid();
const anyMessage = z.union([exportRequestMessage, fileExportMessage]);

export interface QueueHandlerOptions {
  readonly sqs: Pick<SQSClient, 'send'>;
  /** The queue that the function consumes. */
  readonly queueUrl: string;
  /** Comma-separated seconds before the 2nd, 3rd, … receive of a message that failed; the last one repeats. */
  readonly retryDelaysSeconds: string;
  /** Resolves when the message was carried out or rejected. A throw brings it back. */
  readonly handle: (record: SQSRecord, context: Context) => Promise<void>;
}

export type QueueHandler = (event: SQSEvent, context: Context) => Promise<SQSBatchResponse>;

/**
 * An SQS function with partial batch failures: a message whose handling throws is reported alone, and comes back after
 * the delay that its receive count calls for (at once, when the error says so), until the queue's redrive policy moves it to the dead-letter queue.
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
        // One after the other: memory and calls in flight stay those of one message.
        processInParallel: false,
        // An error would report a batch that failed as a whole a second time.
        throwOnFullBatchFailure: false,
      });
    } finally {
      if (metrics.hasStoredMetrics()) metrics.publishStoredMetrics();
    }
  };
}

/** A record as the export takes its message. */
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
  const atOnce = error instanceof TemporarilyUnavailableError && error.retryAfterSeconds === 0;
  const delaySeconds = atOnce ? 0 : (delays[received - 1] ?? delays.at(-1) ?? delays[0]);
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
    // The message still comes back, only later: when the queue's own visibility timeout ends.
    logger.warn('visibility timeout not changed', { messageId: record.messageId, ...describeError(failure) });
  }
}

/**
 * The ids of a record, as fields of a log line. They are read from messages of the known form alone, because visas and keys
 * stand beside them. The request id is the one in the audit trail.
 */
function describeRecord({ messageId, messageAttributes, body }: SQSRecord): Record<string, string> {
  const named = uuid.safeParse(messageAttributes[exportRequestAttributes.requestId]?.stringValue).data;
  const parsed = anyMessage.safeParse(parseJson(body)).data;
  const inBody = parsed && 'requestId' in parsed ? parsed.requestId : undefined;
  return {
    requestId: named ?? inBody ?? messageId,
    ...(parsed?.datasetId !== undefined && { datasetId: parsed.datasetId }),
    ...(parsed?.fileId !== undefined && { fileId: parsed.fileId }),
  };
}

/** A request that was rejected. */
export interface Rejection {
  readonly requestId: string;
  readonly fileId?: string;
  readonly reason: string;
  /** For operators, beside the reason. Holds no token and no key. */
  readonly detail: string;
}

/** Log line and metric of a rejected request; the audit row has been written by then. */
export function reportRejection({ requestId, fileId, reason, detail }: Rejection): void {
  // A metric of its own: its dimension must not spread to the other metrics of the invocation.
  metrics.singleMetric().addDimension('reason', reason).addMetric(names.exportRejected, MetricUnit.Count, 1);
  logger.warn('export rejected', { requestId, ...(fileId !== undefined && { fileId }), reason, detail });
}
