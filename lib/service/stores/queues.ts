import {
  ChangeMessageVisibilityCommand,
  type MessageSystemAttributeValue,
  SendMessageBatchCommand,
  type SendMessageBatchRequestEntry,
  SendMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import { type DeliveryMessage, exportRequestAttributes, type FileExportMessage } from '../../contract/messages.ts';
import { isDamage, isError, unavailable } from '../../errors.ts';
import { forEachConcurrently } from '../archive/concurrency.ts';
import type { Deliveries, ExportRequests, FileExports } from '../export/ports.ts';
import { isTransient } from './aws-failure.ts';
import { type RetryEnvironment, retrying } from './retry.ts';

interface QueueOptions extends RetryEnvironment {
  readonly client: SQSClient;
  readonly queueUrl: string;
  /** Milliseconds that one `send` may spend on repeating what the queue refused. @default 20 s */
  readonly remainingMs?: () => number;
  /** The X-Ray header of an export, by its id. @default - messages have no trace header */
  readonly traceOf?: (requestId: string) => string | undefined;
}

/**
 * The queue `export-requests`. `publish` resolves only when the queue has taken the message. The SDK repeats a send whose answer
 * was lost. The queue then holds the message twice, with one export id, and its consumer expects that.
 *
 * @throws `temporarily_unavailable` on every failure, whatever its kind: the caller gets a 503. The cause shows a
 * missing grant or a wrong URL, and the edge logs it
 */
export function exportRequestsQueue({ client, queueUrl, traceOf }: Omit<QueueOptions, 'remainingMs'>): ExportRequests {
  const attribute = (value: string) => ({ DataType: 'String', StringValue: value });
  return {
    async publish({ requestId, requestedAt, archiveKind, message }) {
      const command = new SendMessageCommand({
        QueueUrl: queueUrl,
        MessageBody: jsonBody(message),
        MessageAttributes: {
          [exportRequestAttributes.requestId]: attribute(requestId),
          [exportRequestAttributes.requestedAt]: attribute(requestedAt.toISOString()),
          [exportRequestAttributes.archiveKind]: attribute(archiveKind),
        },
        ...withTrace(traceOf?.(requestId)),
      });
      try {
        await client.send(command);
      } catch (error) {
        throw unavailable('the export request was not published', { cause: error });
      }
    },
  };
}

/**
 * One of the two queues of file exports. The recipient is the message group: in a standard queue that asks SQS to keep
 * the waiting times of one group short while another has many messages (fair queues). It orders nothing.
 */
export function fileExportsQueue(options: QueueOptions): FileExports {
  return {
    send: (files) => {
      const messages = files.map(({ requestId, ...file }) => ({
        body: jsonBody({ requestId, ...file } satisfies FileExportMessage),
        group: file.recipient,
        trace: options.traceOf?.(requestId),
      }));
      return sendAll(messages, options, 'the queue of file exports');
    },
  };
}

export function deliveriesQueue(options: QueueOptions): Deliveries {
  return {
    send: (requestIds) => {
      const messages = requestIds.map((requestId) => ({
        body: JSON.stringify({ requestId } satisfies DeliveryMessage),
        trace: options.traceOf?.(requestId),
      }));
      return sendAll(messages, options, 'the queue of deliveries');
    },
  };
}

const maxEntries = 10;
const maxBytes = 1024 * 1024;
const batchesInFlight = 8;

interface Outgoing {
  readonly body: string;
  readonly group?: string;
  readonly trace: string | undefined;
}

/** Messages in as few batches as the limits allow, in order. */
export function batches<T extends Pick<Outgoing, 'body'>>(messages: readonly T[]): T[][] {
  const result: T[][] = [];
  let bytes = 0;
  for (const message of messages) {
    const size = Buffer.byteLength(message.body);
    const batch = result.at(-1);
    if (batch && batch.length < maxEntries && bytes + size <= maxBytes) {
      batch.push(message);
      bytes += size;
    } else {
      result.push([message]);
      bytes = size;
    }
  }
  return result;
}

/**
 * Send all messages. Entries that SQS refuses for its own reasons are sent again. An entry that it blames on the
 * sender is a mistake of ours and fails. A batch whose answer was lost is also sent again, so a message can arrive twice:
 * its reader is idempotent.
 *
 * @param what name of the queue, for the error
 * @throws `temporarily_unavailable` when the queue has not taken every message in time. Some may be in it
 */
async function sendAll(messages: readonly Outgoing[], options: QueueOptions, what: string): Promise<void> {
  const { remainingMs = () => 20_000 } = options;
  await forEachConcurrently(batches(messages), batchesInFlight, async (batch) => {
    let entries: SendMessageBatchRequestEntry[] = batch.map(({ body, group, trace }, index) => ({
      Id: String(index),
      MessageBody: body,
      MessageGroupId: group,
      ...withTrace(trace),
    }));
    await retrying(
      async () => {
        entries = await refused(entries, options);
        if (entries.length > 0) throw unavailable(`${entries.length} messages were not taken`);
      },
      { ...options, budgetMs: remainingMs(), isRetryable: isTransient, what },
    );
  });
}

async function refused(entries: SendMessageBatchRequestEntry[], { client, queueUrl }: QueueOptions) {
  const answer = await client.send(new SendMessageBatchCommand({ QueueUrl: queueUrl, Entries: entries }));
  const faulty = answer.Failed?.find((failed) => failed.SenderFault);
  if (faulty) throw new Error(`SQS refused a message for good: ${faulty.Code}`);
  const taken = new Set(answer.Successful?.map((one) => one.Id));
  return entries.filter((entry) => !taken.has(entry.Id));
}

/**
 * JSON as the body of a message. SQS takes no U+FFFE and U+FFFF, and some implementations nothing beyond them. An identifier
 * may have them, so they are escaped.
 */
function jsonBody(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[\ud800-\udfff\ufffe\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16)}`,
  );
}

/**
 * The part of a message by which X-Ray links its sender and its consumer. SQS counts it neither towards the size of the
 * message nor towards its attributes.
 */
function withTrace(header: string | undefined): {
  readonly MessageSystemAttributes?: { AWSTraceHeader: MessageSystemAttributeValue };
} {
  if (header === undefined) return {};
  return { MessageSystemAttributes: { AWSTraceHeader: { DataType: 'String', StringValue: header } } };
}

/** Longest visibility timeout that SQS takes, in seconds (12 h). */
const longestDelaySeconds = 43_200;

/** Seconds before the 2nd, 3rd, … receive of a message that failed; the last one repeats. */
export type RetryDelays = readonly [number, ...number[]];

/** @param text seconds, separated by commas @throws Error for anything else */
export function parseRetryDelays(text: string): RetryDelays {
  const [first, ...others] = text.split(',').map((part) => (part.trim() === '' ? Number.NaN : Number(part)));
  const delays = [first ?? Number.NaN, ...others] as const;
  if (!delays.every((delay) => Number.isInteger(delay) && delay >= 0 && delay <= longestDelaySeconds)) {
    throw new Error('retry delays: expected whole seconds from 0 to 43200, separated by commas');
  }
  return delays;
}

/** Seconds until a message that failed is received again. @param receives how often it was received so far */
export function delayAfter(error: unknown, receives: number, delays: RetryDelays): number {
  // A message whose file is damaged is given up. SQS moves it to the dead letters, and no delay helps.
  if (isDamage(error)) return 0;
  if (isError(error, 'temporarily_unavailable') && error.retryAfterSeconds === 0) return 0;
  return delays[receives - 1] ?? delays.at(-1) ?? delays[0];
}

/** Let the queue deliver a received message again after `seconds`. */
export async function redeliverAfter(
  seconds: number,
  { receiptHandle, queueUrl }: { readonly receiptHandle: string; readonly queueUrl: string },
  sqs: Pick<SQSClient, 'send'>,
): Promise<void> {
  const message = { QueueUrl: queueUrl, ReceiptHandle: receiptHandle };
  await sqs.send(new ChangeMessageVisibilityCommand({ ...message, VisibilityTimeout: seconds }));
}
