import {
  type MessageSystemAttributeValue,
  SendMessageBatchCommand,
  type SendMessageBatchRequestEntry,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import { TemporarilyUnavailableError } from '../../../errors.ts';
import { forEachConcurrently } from '../../archive/concurrency.ts';
import { isTransient } from '../aws-failure.ts';
import { type RetryEnvironment, retrying } from '../retry.ts';

export interface QueueOptions extends RetryEnvironment {
  readonly client: SQSClient;
  readonly queueUrl: string;
  /** Milliseconds that one `send` may spend on repeating what the queue refused. @default 20 s */
  readonly remainingMs?: () => number;
  /** @default - messages have no trace header */
  readonly traceOf?: TraceOf;
}

const maxEntries = 10;
const maxBytes = 1024 * 1024;
const batchesInFlight = 8;

export interface Outgoing {
  /** Export that the message is of. */
  readonly exportId: string;
  readonly body: string;
  /** Message group. @default - none */
  readonly group?: string;
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
 * Send all messages. Entries that SQS refuses for reasons of its own are sent again. An entry that it blames on the
 * sender is a mistake of ours and fails. A batch whose answer was lost is sent again too, so a message may arrive twice:
 * its reader is idempotent.
 *
 * @param what name of the queue, for the error
 * @throws TemporarilyUnavailableError when the queue has not taken every message in time. Some may be in it.
 */
export async function sendAll(messages: readonly Outgoing[], options: QueueOptions, what: string): Promise<void> {
  await forEachConcurrently(batches(messages), batchesInFlight, (batch) => sendBatch(batch, options, what));
}

async function sendBatch(batch: readonly Outgoing[], options: QueueOptions, what: string): Promise<void> {
  const { remainingMs = () => 20_000, traceOf } = options;
  let entries = batch.map(({ exportId, body, group }, index) => ({
    Id: String(index),
    MessageBody: body,
    ...(group !== undefined && { MessageGroupId: group }),
    ...withTrace(traceOf?.(exportId)),
  }));
  await retrying(
    async () => {
      entries = await refused(entries, options);
      if (entries.length > 0) throw new TemporarilyUnavailableError(`${entries.length} messages were not taken`);
    },
    { ...options, budgetMs: remainingMs(), isRetryable: isTransient, what },
  );
}

async function refused<Entry extends SendMessageBatchRequestEntry>(
  entries: readonly Entry[],
  { client, queueUrl }: QueueOptions,
): Promise<Entry[]> {
  const answer = await client.send(new SendMessageBatchCommand({ QueueUrl: queueUrl, Entries: [...entries] }));
  const faulty = answer.Failed?.find((failed) => failed.SenderFault);
  if (faulty) throw new Error(`SQS refused a message for good: ${faulty.Code}`);
  const taken = new Set(answer.Successful?.map((one) => one.Id));
  return entries.filter((entry) => !taken.has(entry.Id));
}

/**
 * JSON as the body of a message. SQS takes no U+FFFE and U+FFFF, and some implementations nothing beyond them. An identifier
 * may have them, so they are escaped.
 */
export function jsonBody(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[\ud800-\udfff\ufffe\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16)}`,
  );
}

/** The X-Ray header of an export, by its id; `undefined`: the message goes without one. */
export type TraceOf = (exportId: string) => string | undefined;

/**
 * The part of a message by which X-Ray links its sender and its consumer. SQS counts it neither towards the size of the
 * message nor towards its attributes.
 */
export function withTrace(header: string | undefined): {
  readonly MessageSystemAttributes?: { AWSTraceHeader: MessageSystemAttributeValue };
} {
  if (header === undefined) return {};
  return { MessageSystemAttributes: { AWSTraceHeader: { DataType: 'String', StringValue: header } } };
}
