import { ChangeMessageVisibilityCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import * as z from 'zod';
import { parseJson } from '../../lib/common/untrusted-json.ts';
import { exportRequestAttributes, retryDelaysSeconds } from '../../lib/contract/messages.ts';
import { type FailureStage, metrics as names } from '../../lib/contract/metrics.ts';
import { isError } from '../../lib/errors.ts';
import type { ReceivedMessage } from '../../lib/service/export/received.ts';
import { countBy, describeError, logger, metrics } from './observability.ts';

/** How each message ended, in their order. One that was carried out, or refused for good, is fulfilled. */
export type HandleMessages = (
  messages: readonly ReceivedMessage[],
  context: Context,
) => Promise<readonly PromiseSettledResult<unknown>[]>;

/** Handles one message. A throw brings it back. */
export type HandleMessage = (message: ReceivedMessage, context: Context) => Promise<void>;

export interface QueueHandlerOptions {
  readonly sqs: Pick<SQSClient, 'send'>;
  /** Of the queues whose messages come back early. @default - none: a message comes back when its visibility timeout ends */
  readonly queueUrls?: readonly string[];
  /** Where in an export its messages can fail. */
  readonly stage: FailureStage;
  readonly handle: HandleMessages;
}

/**
 * An SQS function with partial batch failures: a message whose handling fails is reported alone, and comes back after
 * the delay that its receive count calls for, until the queue's redrive policy moves it to the dead-letter queue. An
 * error with `retryAfterSeconds` 0 brings it back at once.
 */
export function queueHandler({ sqs, queueUrls = [], stage, handle }: QueueHandlerOptions) {
  async function putBack(record: SQSRecord, error: unknown): Promise<void> {
    const { messageId, receiptHandle } = record;
    const received = Number(record.attributes.ApproximateReceiveCount);
    countBy(names.messageFailed, stage);
    logger.error('message failed', {
      ...idsOf(record),
      ...{ messageId, received, code: isError(error) ? error.code : 'internal_error' },
      ...describeError(error),
    });
    // The ARN and the URL of a queue end in its name.
    const name = record.eventSourceARN.split(':').at(-1) ?? '';
    const queueUrl = queueUrls.find((url) => url.endsWith(`/${name}`));
    if (queueUrl === undefined) return;
    try {
      const message = { QueueUrl: queueUrl, ReceiptHandle: receiptHandle };
      const seconds = delayAfter(error, received);
      await sqs.send(new ChangeMessageVisibilityCommand({ ...message, VisibilityTimeout: seconds }));
    } catch (failure) {
      // The message still comes back, only later: when the queue's own visibility timeout ends.
      logger.warn('visibility timeout not changed', { messageId, ...describeError(failure) });
    }
  }

  return async ({ Records: records }: SQSEvent, context: Context): Promise<SQSBatchResponse> => {
    logger.addContext(context);
    try {
      const ends = await handle(records.map(receivedMessage), context);
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
export function oneByOne(handle: HandleMessage): HandleMessages {
  return async (messages, context) => {
    const ends: PromiseSettledResult<void>[] = [];
    for (const message of messages) ends.push(...(await Promise.allSettled([handle(message, context)])));
    return ends;
  };
}

function receivedMessage({ messageId, body, attributes, messageAttributes }: SQSRecord): ReceivedMessage {
  const strings = Object.entries(messageAttributes).map(([name, value]) => [name, value.stringValue]);
  return {
    messageId,
    body,
    sentAt: new Date(Number(attributes.SentTimestamp)),
    attributes: Object.fromEntries(strings),
  };
}

const ids = z.object({
  requestId: z.uuid().optional().catch(undefined),
  datasetId: z.string().optional().catch(undefined),
  fileId: z.string().optional().catch(undefined),
});

/** The ids that a message names, and nothing else of it: an export request also has a visa and a key. */
function idsOf({ body, messageId, messageAttributes }: SQSRecord): z.infer<typeof ids> {
  const { requestId, ...named } = ids.safeParse(parseJson(body)).data ?? {};
  const attribute = z.uuid().safeParse(messageAttributes[exportRequestAttributes.requestId]?.stringValue).data;
  return { requestId: attribute ?? requestId ?? messageId, ...named };
}

/** Seconds until a message that failed is received again. @param receives how often it was received so far */
function delayAfter(error: unknown, receives: number): number {
  if (isError(error, 'temporarily_unavailable') && error.retryAfterSeconds === 0) return 0;
  return retryDelaysSeconds[receives - 1] ?? Math.max(...retryDelaysSeconds);
}
