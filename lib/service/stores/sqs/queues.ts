import { type MessageAttributeValue, SendMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { type DeliveryMessage, exportRequestAttributes, type FileExportMessage } from '../../../contract/messages.ts';
import { TemporarilyUnavailableError } from '../../../errors.ts';
import type { Deliveries, ExportRequest, ExportRequests, FileExport, FileExports } from '../../export/ports.ts';
import { jsonBody, type QueueOptions, sendAll, type TraceOf, withTrace } from './messages.ts';

function attribute(value: string): MessageAttributeValue {
  return { DataType: 'String', StringValue: value };
}

/** The queue `export-requests`. */
export class SqsExportRequests implements ExportRequests {
  readonly #client: SQSClient;
  readonly #queueUrl: string;
  readonly #traceOf: TraceOf;

  constructor(options: { readonly client: SQSClient; readonly queueUrl: string; readonly traceOf?: TraceOf }) {
    this.#client = options.client;
    this.#queueUrl = options.queueUrl;
    this.#traceOf = options.traceOf ?? (() => undefined);
  }

  /**
   * Publish one message; resolves only when the queue has taken it. The SDK repeats a send whose answer was lost. The
   * queue then holds the message twice, with one request id, and its consumer expects that.
   *
   * @throws TemporarilyUnavailableError on every failure, whatever its kind: the caller gets a 503. The cause shows a
   *   missing grant or a wrong URL, and the edge logs it.
   */
  async publish({ exportId, requestedAt, archiveKind, message }: ExportRequest): Promise<void> {
    try {
      await this.#client.send(
        new SendMessageCommand({
          QueueUrl: this.#queueUrl,
          MessageBody: jsonBody(message),
          MessageAttributes: {
            [exportRequestAttributes.exportId]: attribute(exportId),
            [exportRequestAttributes.requestedAt]: attribute(requestedAt.toISOString()),
            [exportRequestAttributes.archiveKind]: attribute(archiveKind),
          },
          ...withTrace(this.#traceOf(exportId)),
        }),
      );
    } catch (error) {
      throw new TemporarilyUnavailableError('the export request was not published', { cause: error });
    }
  }
}

/**
 * One of the two queues of file exports. The recipient is the message group: in a standard queue that asks SQS to keep
 * the waiting times of one group short while another has many messages (fair queues). It orders nothing.
 */
export class SqsFileExports implements FileExports {
  readonly #options: QueueOptions;

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  /** @throws TemporarilyUnavailableError when the queue has not taken every message in time. Some may be in it. */
  async send(files: readonly FileExport[]): Promise<void> {
    const outgoing = files.map(({ exportId, ...file }) => ({
      exportId,
      body: jsonBody({ requestId: exportId, ...file } satisfies FileExportMessage),
      group: file.recipient,
    }));
    await sendAll(outgoing, this.#options, 'the queue of file exports');
  }
}

/** The queue `deliveries`. */
export class SqsDeliveries implements Deliveries {
  readonly #options: QueueOptions;

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  /** @throws TemporarilyUnavailableError when the queue has not taken every message in time. Some may be in it. */
  async send(exportIds: readonly string[]): Promise<void> {
    const outgoing = exportIds.map((exportId) => ({
      exportId,
      body: JSON.stringify({ requestId: exportId } satisfies DeliveryMessage),
    }));
    await sendAll(outgoing, this.#options, 'the queue of deliveries');
  }
}
