import {
  SendMessageBatchCommand,
  type SendMessageBatchRequestEntry,
  SendMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import { forEachConcurrently } from '../../common/concurrently.ts';
import {
  type DeliveryMessage,
  type ExportRequestMessage,
  exportRequestAttributes,
  type FileExportMessage,
} from '../../contract/messages.ts';
import { unavailable } from '../../errors.ts';
import { isTransient } from './aws-failure.ts';
import { type RetryEnvironment, retrying } from './retry.ts';

interface QueueOptions extends RetryEnvironment {
  readonly client: Pick<SQSClient, 'send'>;
  readonly queueUrl: string;
}

/** What `POST /export/{archive_kind}` asks for. */
export interface ExportRequest {
  readonly requestId: string;
  /** Now: decides which of two exports of one file to one recipient stays. */
  readonly requestedAt: Date;
  readonly archiveKind: string;
  readonly message: ExportRequestMessage;
}

/** The queue `ExportRequests`. */
export function exportRequestsQueue({ client, queueUrl }: QueueOptions) {
  const attribute = (value: string) => ({ DataType: 'String', StringValue: value });
  return {
    /**
     * Resolves only when the queue has taken the message. The SDK repeats a send whose answer was lost; the queue then has
     * the message twice, with one request id, and its consumer expects that.
     *
     * @throws temporarily_unavailable on every failure, whatever its kind: the caller gets a 503, and the edge logs the cause
     */
    async publish({ requestId, requestedAt, archiveKind, message }: ExportRequest): Promise<void> {
      const command = new SendMessageCommand({
        QueueUrl: queueUrl,
        MessageBody: jsonBody(message),
        MessageAttributes: {
          [exportRequestAttributes.requestId]: attribute(requestId),
          [exportRequestAttributes.requestedAt]: attribute(requestedAt.toISOString()),
          [exportRequestAttributes.archiveKind]: attribute(archiveKind),
        },
      });
      try {
        await client.send(command);
      } catch (error) {
        throw unavailable('the export request was not published', { cause: error });
      }
    },
  };
}
export type ExportRequestsQueue = ReturnType<typeof exportRequestsQueue>;

/** One of the two queues of files. */
export function fileExportsQueue(options: QueueOptions) {
  return {
    /**
     * Resolves when the queue has taken a message for each file. The recipient is the message group: in a standard queue that asks
     * SQS to keep the waiting times of one group short while another has many messages (fair queues). It orders nothing.
     */
    send(requestId: string, fileIds: readonly string[], recipient: string): Promise<void> {
      const messages = fileIds.map((fileId): FileExportMessage => ({ requestId, fileId }));
      return sendAll(messages, options, recipient);
    },
  };
}
export type FileExportsQueue = ReturnType<typeof fileExportsQueue>;

export function deliveriesQueue(options: QueueOptions) {
  return {
    /** Resolves when the queue has taken a message for each request. */
    send(requestIds: readonly string[]): Promise<void> {
      return sendAll(
        requestIds.map((requestId): DeliveryMessage => ({ requestId })),
        options,
      );
    },
  };
}
export type DeliveriesQueue = ReturnType<typeof deliveriesQueue>;

/** What SQS takes in one call. Ten of our messages stay far below its limit of bytes. */
const messagesPerBatch = 10;
const batchesInFlight = 16;
const sendMs = 20_000;

/**
 * Send all messages. Entries that SQS refuses for its own reasons are sent again. An entry that it blames on the sender is a mistake of
 * ours and fails. A batch whose answer was lost is also sent again, so a message can arrive twice: its reader is idempotent.
 *
 * @throws temporarily_unavailable when the queue has not taken every message in time. Some may be in it.
 */
async function sendAll(messages: readonly object[], options: QueueOptions, group?: string): Promise<void> {
  const { client, queueUrl } = options;
  const batches = Math.ceil(messages.length / messagesPerBatch);
  const starts = Array.from({ length: batches }, (_, index) => index * messagesPerBatch);
  await forEachConcurrently(starts, batchesInFlight, async (start) => {
    let entries: SendMessageBatchRequestEntry[] = messages
      .slice(start, start + messagesPerBatch)
      .map((message, index) => ({ Id: String(index), MessageBody: jsonBody(message), MessageGroupId: group }));
    const attempt = async () => {
      const answer = await client.send(new SendMessageBatchCommand({ QueueUrl: queueUrl, Entries: entries }));
      const faulty = answer.Failed?.find((failed) => failed.SenderFault);
      if (faulty) throw new Error(`SQS refused a message for good: ${faulty.Code}`);
      const taken = new Set(answer.Successful?.map((one) => one.Id));
      entries = entries.filter((entry) => !taken.has(entry.Id));
      if (entries.length > 0) throw unavailable(`${entries.length} messages were not taken`);
    };
    await retrying(attempt, { ...options, budgetMs: sendMs, isRetryable: isTransient, what: 'SQS' });
  });
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
