import { type MessageAttributeValue, SendMessageCommand } from '@aws-sdk/client-sqs';
import { type DeliveryMessage, exportRequestAttributes, type FileExportMessage } from '../../../contract/messages.ts';
import { TemporarilyUnavailableError } from '../../../errors.ts';
import type { Deliveries, ExportRequests, FileExport, FileExports } from '../../export/ports.ts';
import { jsonBody, type QueueOptions, sendAll, withTrace } from './messages.ts';

function attribute(value: string): MessageAttributeValue {
  return { DataType: 'String', StringValue: value };
}

/**
 * The queue `export-requests`. `publish` resolves only when the queue has taken the message. The SDK repeats a send whose answer
 * was lost. The queue then holds the message twice, with one export id, and its consumer expects that.
 *
 * @throws TemporarilyUnavailableError on every failure, whatever its kind: the caller gets a 503. The cause shows a
 *   missing grant or a wrong URL, and the edge logs it.
 */
export function exportRequestsQueue({ client, queueUrl, traceOf }: Omit<QueueOptions, 'remainingMs'>): ExportRequests {
  return {
    async publish({ exportId, requestedAt, archiveKind, message }) {
      const command = new SendMessageCommand({
        QueueUrl: queueUrl,
        MessageBody: jsonBody(message),
        MessageAttributes: {
          [exportRequestAttributes.exportId]: attribute(exportId),
          [exportRequestAttributes.requestedAt]: attribute(requestedAt.toISOString()),
          [exportRequestAttributes.archiveKind]: attribute(archiveKind),
        },
        ...withTrace(traceOf?.(exportId)),
      });
      try {
        await client.send(command);
      } catch (error) {
        throw new TemporarilyUnavailableError('the export request was not published', { cause: error });
      }
    },
  };
}

/**
 * One of the two queues of file exports. The recipient is the message group: in a standard queue that asks SQS to keep
 * the waiting times of one group short while another has many messages (fair queues). It orders nothing.
 */
export function fileExportsQueue(options: QueueOptions): FileExports {
  const outgoing = ({ exportId, ...file }: FileExport) => ({
    exportId,
    body: jsonBody({ requestId: exportId, ...file } satisfies FileExportMessage),
    group: file.recipient,
  });
  return { send: (files) => sendAll(files.map(outgoing), options, 'the queue of file exports') };
}

export function deliveriesQueue(options: QueueOptions): Deliveries {
  const outgoing = (exportId: string) => ({
    exportId,
    body: JSON.stringify({ requestId: exportId } satisfies DeliveryMessage),
  });
  return { send: (exportIds) => sendAll(exportIds.map(outgoing), options, 'the queue of deliveries') };
}
