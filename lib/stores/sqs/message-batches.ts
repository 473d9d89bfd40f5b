import { SendMessageBatchCommand, type SendMessageBatchRequestEntry, type SQSClient } from '@aws-sdk/client-sqs';
import { forEachConcurrently } from '../../archive/concurrency.ts';
import { TemporarilyUnavailableError } from '../../errors.ts';
import { isTransient } from '../aws-failure.ts';
import { type RetryEnvironment, retrying } from '../retry.ts';
import { type TraceOf, withTrace } from './trace-header.ts';

export interface QueueOptions extends RetryEnvironment {
  readonly client: SQSClient;
  readonly queueUrl: string;
  /** Milliseconds that one `send` may spend on repeating what the queue refused. @default 20 s */
  readonly remainingMs?: () => number;
  /** @default - messages have no trace header */
  readonly traceOf?: TraceOf;
}

/** Limits of SendMessageBatch; the byte limit is for all entries together. */
const maxEntries = 10;
const maxBytes = 1024 * 1024;
const batchesInFlight = 8;

/** A message as it is sent. */
export interface Outgoing {
  /** Request that the message is of. */
  readonly requestId: string;
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
  let entries = batch.map(({ requestId, body, group }, index) => ({
    Id: String(index),
    MessageBody: body,
    ...(group !== undefined && { MessageGroupId: group }),
    ...withTrace(traceOf?.(requestId)),
  }));
  await retrying(
    async () => {
      entries = await refused(entries, options);
      if (entries.length > 0) throw new TemporarilyUnavailableError(`${entries.length} messages were not taken`);
    },
    { ...options, budgetMs: remainingMs(), isRetryable: isTransient, what },
  );
}

/** Send once; the entries that are still to be sent. */
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
