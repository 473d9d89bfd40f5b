import { SendMessageBatchCommand, type SendMessageBatchRequestEntry, type SQSClient } from '@aws-sdk/client-sqs';
import { forEachConcurrently } from '../../archive/concurrency.ts';
import type { FileExportMessage } from '../../contract/messages.ts';
import { TemporarilyUnavailableError } from '../../errors.ts';
import type { FileExports } from '../../export/ports.ts';
import { isTransient } from '../aws-failure.ts';
import { type RetryEnvironment, retrying } from '../retry.ts';

interface FileExportsOptions extends RetryEnvironment {
  readonly client: SQSClient;
  readonly queueUrl: string;
  /** Milliseconds that one `send` may spend on repeating what the queue refused. @default 20 s */
  readonly remainingMs?: () => number;
}

/** Limits of SendMessageBatch; the byte limit is for all entries together. */
const maxEntries = 10;
const maxBytes = 1024 * 1024;
const batchesInFlight = 8;

/** A message as it is sent. */
interface Outgoing {
  readonly body: string;
  /** Message group. */
  readonly group: string;
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
 * One of the two queues of file exports. The recipient is the message group: in a standard queue that asks SQS to keep
 * the waiting times of one group short while another has many messages (fair queues). It orders nothing.
 */
export class SqsFileExports implements FileExports {
  readonly #options: FileExportsOptions;

  constructor(options: FileExportsOptions) {
    this.#options = options;
  }

  /**
   * Entries that SQS refuses for reasons of its own are sent again. An entry that it blames on the sender is a mistake
   * of ours and fails. A batch whose answer was lost is sent again too, so a message may arrive twice: staging is
   * idempotent.
   *
   * @throws TemporarilyUnavailableError when the queue has not taken every message in time. Some may be in it.
   */
  async send(messages: readonly FileExportMessage[]): Promise<void> {
    const outgoing = messages.map((message) => ({ body: JSON.stringify(message), group: message.recipient }));
    await forEachConcurrently(batches(outgoing), batchesInFlight, (batch) => this.#sendBatch(batch));
  }

  async #sendBatch(batch: readonly Outgoing[]): Promise<void> {
    const { remainingMs = () => 20_000 } = this.#options;
    let entries = batch.map(({ body, group }, index) => ({
      Id: String(index),
      MessageBody: body,
      MessageGroupId: group,
    }));
    await retrying(
      async () => {
        entries = await this.#refused(entries);
        if (entries.length > 0) throw new TemporarilyUnavailableError(`${entries.length} messages were not taken`);
      },
      { ...this.#options, budgetMs: remainingMs(), isRetryable: isTransient, what: 'the queue of file exports' },
    );
  }

  /** Send once; the entries that are still to be sent. */
  async #refused<Entry extends SendMessageBatchRequestEntry>(entries: readonly Entry[]): Promise<Entry[]> {
    const { client, queueUrl } = this.#options;
    const answer = await client.send(new SendMessageBatchCommand({ QueueUrl: queueUrl, Entries: [...entries] }));
    const faulty = answer.Failed?.find((failed) => failed.SenderFault);
    if (faulty) throw new Error(`SQS refused a message for good: ${faulty.Code}`);
    const taken = new Set(answer.Successful?.map((one) => one.Id));
    return entries.filter((entry) => !taken.has(entry.Id));
  }
}
