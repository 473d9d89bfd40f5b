import { list, record } from '../template/template.ts';

/** A message as ReceiveMessage gives it. */
export interface ReceivedMessage {
  readonly MessageId: string;
  readonly ReceiptHandle: string;
  readonly Body: string;
  readonly MD5OfBody: string;
  readonly Attributes?: Readonly<Record<string, string>>;
  readonly MessageAttributes?: Readonly<Record<string, MessageAttribute>>;
}

interface MessageAttribute {
  readonly DataType: string;
  readonly StringValue: string;
}

/** One record of the event that Lambda makes of a message. */
export function toRecord(message: ReceivedMessage, queueArn: string, region: string) {
  const attributes = Object.entries(message.MessageAttributes ?? {}).map(([name, attribute]) => [
    name,
    {
      ...{ stringValue: attribute.StringValue, dataType: attribute.DataType },
      ...{ stringListValues: [], binaryListValues: [] },
    },
  ]);
  return {
    messageId: message.MessageId,
    receiptHandle: message.ReceiptHandle,
    body: message.Body,
    attributes: { ...message.Attributes },
    messageAttributes: Object.fromEntries(attributes) as Record<string, unknown>,
    md5OfBody: message.MD5OfBody,
    eventSource: 'aws:sqs',
    eventSourceARN: queueArn,
    awsRegion: region,
  };
}

/** The messages to delete, given the reply of a function with ReportBatchItemFailures. */
export function succeeded(messages: readonly ReceivedMessage[], reply: unknown): readonly ReceivedMessage[] {
  if (reply === null || reply === undefined || reply === '') return messages;
  const { batchItemFailures } = record(reply);
  if (batchItemFailures === undefined || batchItemFailures === null) return messages;
  const failures = list(batchItemFailures).map((failure) => record(failure).itemIdentifier);
  const known = new Set<unknown>(messages.map(({ MessageId }) => MessageId));
  // An empty, missing or unknown identifier fails the whole batch (LDG services-sqs-errorhandling).
  if (failures.some((id) => !known.has(id))) return [];
  const failed = new Set(failures);
  return messages.filter(({ MessageId }) => !failed.has(MessageId));
}
