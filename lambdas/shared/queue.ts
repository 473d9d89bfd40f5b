import { ChangeMessageVisibilityCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import * as z from 'zod';
import {
  deliveryMessage,
  exportRequestAttributes,
  exportRequestMessage,
  fileExportMessage,
} from '../../lib/contract/messages.ts';
import { type FailureStage, metrics as names } from '../../lib/contract/metrics.ts';
import { BodyMissingError, DataOutError, TemporarilyUnavailableError } from '../../lib/errors.ts';
import { parseJson, type ReceivedMessage } from '../../lib/service/export/received.ts';
import { countBy, describeError, logger, metrics } from './observability.ts';
import { exportFields, followTraces } from './traces.ts';

/** Longest visibility timeout that SQS takes, in seconds (12 h). */
const longestDelaySeconds = 43_200;

const uuid = z.uuid();
const anyMessage = z.union([exportRequestMessage, fileExportMessage, deliveryMessage]);

export interface QueueHandlerOptions {
  readonly sqs: Pick<SQSClient, 'send'>;
  /** The queues that the function consumes. */
  readonly queueUrls: readonly [string, ...string[]];
  /** Comma-separated seconds before the 2nd, 3rd, … receive of a message that failed; the last one repeats. */
  readonly retryDelaysSeconds: string;
  /** Where in an export its messages can fail. */
  readonly stage: FailureStage;
  /** How each record ended, in their order. One that was carried out, or refused for good, is fulfilled. */
  readonly handle: HandleRecords;
}

export type HandleRecords = (
  records: readonly SQSRecord[],
  context: Context,
) => Promise<readonly PromiseSettledResult<unknown>[]>;

export type QueueHandler = (event: SQSEvent, context: Context) => Promise<SQSBatchResponse>;

/**
 * An SQS function with partial batch failures: a message whose handling fails is reported alone, and comes back after
 * the delay that its receive count calls for, until the queue's redrive policy moves it to the dead-letter queue. An
 * error with `retryAfterSeconds` 0 brings it back at once.
 */
export function queueHandler(options: QueueHandlerOptions): QueueHandler {
  const delays = parseRetryDelays(options.retryDelaysSeconds);
  return async (event, context) => {
    logger.addContext(context);
    followTraces(
      event.Records.map((record) => ({
        exportId: describeRecord(record).exportId,
        header: record.attributes.AWSTraceHeader,
      })),
    );
    try {
      const ends = await options.handle(event.Records, context);
      const failed = event.Records.flatMap((record, index) => {
        const end = ends[index];
        return end?.status === 'fulfilled' ? [] : [{ record, reason: end?.reason }];
      });
      await Promise.all(failed.map(({ record, reason }) => putBack(record, reason, delays, options)));
      return { batchItemFailures: failed.map(({ record }) => ({ itemIdentifier: record.messageId })) };
    } finally {
      if (metrics.hasStoredMetrics()) metrics.publishStoredMetrics();
    }
  };
}

/** Handles records one after the other, so that memory and calls in flight stay those of one message. */
export function oneByOne(handle: (record: SQSRecord, context: Context) => Promise<void>): HandleRecords {
  return async (records, context) => {
    const ends: PromiseSettledResult<void>[] = [];
    for (const record of records) ends.push(...(await Promise.allSettled([handle(record, context)])));
    return ends;
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

/** A queue, and the receives after which it puts a message aside. */
export interface QueueReceives {
  readonly url: string;
  readonly receives: number;
}

/** Whether the queue puts this message aside when it is not handled now. */
export function isLastReceive(record: SQSRecord, queues: readonly QueueReceives[]): boolean {
  const queue = queues.find(({ url }) => isFrom(record, url));
  return queue !== undefined && receiveCount(record) >= queue.receives;
}

/** Whether a record came from a queue: ARN and URL end in the queue's name. */
function isFrom({ eventSourceARN }: SQSRecord, queueUrl: string): boolean {
  return queueUrl.endsWith(`/${eventSourceARN.split(':').at(-1) ?? ''}`);
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
  { sqs, queueUrls, stage }: QueueHandlerOptions,
): Promise<void> {
  const received = receiveCount(record);
  // What is given up goes to the dead letters, where only SQS puts messages: no delay helps.
  const atOnce =
    error instanceof BodyMissingError ||
    (error instanceof TemporarilyUnavailableError && error.retryAfterSeconds === 0);
  const delaySeconds = atOnce ? 0 : (delays[received - 1] ?? delays.at(-1) ?? delays[0]);
  countBy(names.messageFailed, stage);
  const { exportId, ...ids } = describeRecord(record);
  logger.error('message failed', {
    ...exportFields({ exportId }),
    ...ids,
    messageId: record.messageId,
    received,
    delaySeconds,
    code: error instanceof DataOutError ? error.code : 'internal_error',
    ...describeError(error),
  });
  try {
    await sqs.send(
      new ChangeMessageVisibilityCommand({
        QueueUrl: queueUrls.find((url) => isFrom(record, url)) ?? queueUrls[0],
        ReceiptHandle: record.receiptHandle,
        VisibilityTimeout: delaySeconds,
      }),
    );
  } catch (failure) {
    // The message still comes back, only later: when the queue's own visibility timeout ends.
    logger.warn('visibility timeout not changed', { messageId: record.messageId, ...describeError(failure) });
  }
}

interface RecordIds {
  readonly exportId: string;
  readonly datasetId?: string;
  readonly fileId?: string;
}

/**
 * The ids of a record. They are read from messages of the known form alone, because visas and keys
 * stand beside them. The export id is the one in the audit trail.
 */
function describeRecord({ messageId, messageAttributes, body }: SQSRecord): RecordIds {
  const named = uuid.safeParse(messageAttributes[exportRequestAttributes.exportId]?.stringValue).data;
  const parsed: Readonly<Partial<Record<'requestId' | 'datasetId' | 'fileId', string | undefined>>> =
    anyMessage.safeParse(parseJson(body)).data ?? {};
  return {
    exportId: named ?? parsed.requestId ?? messageId,
    ...(parsed.datasetId !== undefined && { datasetId: parsed.datasetId }),
    ...(parsed.fileId !== undefined && { fileId: parsed.fileId }),
  };
}

/** A request or a file that was rejected. */
export interface Rejection {
  readonly exportId: string;
  readonly fileId?: string;
  readonly reason: string;
  /** For operators, beside the reason. Holds no token and no key. */
  readonly detail: string;
}

/** Log line and metric of a rejected request, or of a rejected file; the audit row has been written by then. */
export function reportRejection(
  name: typeof names.exportRejected | typeof names.fileRejected,
  rejection: Rejection,
): void {
  const { fileId, reason, detail } = rejection;
  countBy(name, reason);
  logger.warn('export rejected', {
    ...exportFields(rejection),
    ...(fileId !== undefined && { fileId }),
    reason,
    detail,
  });
}
