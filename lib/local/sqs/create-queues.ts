import type { Deployment } from '../template/deployment.ts';
import { list, optionalNumber, type Resource, record } from '../template/template.ts';
import type { QueueServer } from './queue-server.ts';

/** Attributes of SQS that the template may set under the same name. */
const numbers = [
  'DelaySeconds',
  'MaximumMessageSize',
  'MessageRetentionPeriod',
  'ReceiveMessageWaitTimeSeconds',
  'VisibilityTimeout',
];

/** Make the queues of the template, or bring those of an earlier run to what the template says now. */
export async function createQueues(deployment: Deployment, queueServer: QueueServer): Promise<void> {
  for (const queue of deployment.resources('AWS::SQS::Queue')) {
    const QueueName = queue.attribute('QueueName');
    const Attributes = attributesOf(queue);
    await queueServer.sqs('CreateQueue', { QueueName });
    if (Object.keys(Attributes).length > 0) {
      await queueServer.sqs('SetQueueAttributes', { QueueUrl: queue.id, Attributes });
    }
  }
}

function attributesOf(queue: Resource): Record<string, string> {
  const attributes = numbers.flatMap((name) => {
    const value = optionalNumber(queue, name);
    return value === undefined ? [] : [[name, String(value)]];
  });
  const { deadLetterTargetArn, maxReceiveCount } = record(queue.property('RedrivePolicy'));
  if (deadLetterTargetArn !== undefined) {
    // A number: the queue server compares it as it is.
    const policy = { deadLetterTargetArn, maxReceiveCount: Number(maxReceiveCount) };
    attributes.push(['RedrivePolicy', JSON.stringify(policy)]);
  }
  return Object.fromEntries(attributes) as Record<string, string>;
}

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
  readonly StringValue?: string;
  readonly BinaryValue?: string;
}

/** One record of the event that Lambda makes of a message. */
export function toRecord(message: ReceivedMessage, queueArn: string, region: string) {
  const attributes = Object.entries(message.MessageAttributes ?? {}).map(([name, attribute]) => [
    name,
    {
      ...(attribute.StringValue === undefined ? {} : { stringValue: attribute.StringValue }),
      ...(attribute.BinaryValue === undefined ? {} : { binaryValue: attribute.BinaryValue }),
      stringListValues: [],
      binaryListValues: [],
      dataType: attribute.DataType,
    },
  ]);
  return {
    messageId: message.MessageId,
    receiptHandle: message.ReceiptHandle,
    body: message.Body,
    attributes: message.Attributes ?? {},
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
  const failures = list(batchItemFailures).map((failure) => record(failure)['itemIdentifier']);
  const known = new Set<unknown>(messages.map(({ MessageId }) => MessageId));
  // An empty, missing or unknown identifier fails the whole batch (LDG services-sqs-errorhandling).
  if (failures.some((id) => !known.has(id))) return [];
  const failed = new Set(failures);
  return messages.filter(({ MessageId }) => !failed.has(MessageId));
}
