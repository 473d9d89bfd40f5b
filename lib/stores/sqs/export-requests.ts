import { type MessageAttributeValue, SendMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { ExportRequest, ExportRequests } from '../../api/ports.ts';
import { exportRequestAttributes } from '../../contract/messages.ts';
import { TemporarilyUnavailableError } from '../../errors.ts';
import { jsonBody } from './json-body.ts';
import { type TraceOf, withTrace } from './trace-header.ts';

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
  async publish({ requestId, requestedAt, archiveKind, message }: ExportRequest): Promise<void> {
    try {
      await this.#client.send(
        new SendMessageCommand({
          QueueUrl: this.#queueUrl,
          MessageBody: jsonBody(message),
          MessageAttributes: {
            [exportRequestAttributes.requestId]: attribute(requestId),
            [exportRequestAttributes.requestedAt]: attribute(requestedAt.toISOString()),
            [exportRequestAttributes.archiveKind]: attribute(archiveKind),
          },
          ...withTrace(this.#traceOf(requestId)),
        }),
      );
    } catch (error) {
      throw new TemporarilyUnavailableError('the export request was not published', { cause: error });
    }
  }
}
