import { randomUUID } from 'node:crypto';
import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  type MessageAttributeValue,
  ReceiveMessageCommand,
  SendMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';

export interface FakeMessage {
  readonly messageId: string;
  readonly body: string;
  readonly attributes: Readonly<Record<string, MessageAttributeValue>>;
  readonly group: string | undefined;
  readonly trace: string | undefined;
  readonly sentAt: number;
  receives: number;
  /** Hidden until then, in milliseconds. */
  hiddenUntil: number;
}

/** Queues in memory that hide what was received, like SQS, and refuse calls that no dead letter needs. */
export class FakeQueues {
  readonly #queues = new Map<string, Map<string, FakeMessage>>();
  readonly #now: () => Date;
  /** Thrown instead of the call of that name. */
  readonly failures = new Map<string, Error>();
  /** Called before each call, with its name. */
  onCall: (name: string) => void = () => {};

  constructor(now: () => Date) {
    this.#now = now;
  }

  /** Messages of a queue in the order in which they came. */
  of(queueUrl: string): FakeMessage[] {
    return [...this.#queue(queueUrl).values()];
  }

  /** Take all messages out of a queue. */
  drain(queueUrl: string): FakeMessage[] {
    const messages = this.of(queueUrl);
    this.#queue(queueUrl).clear();
    return messages;
  }

  put(queueUrl: string, body: string, more: Partial<Omit<FakeMessage, 'body'>> = {}): FakeMessage {
    const message: FakeMessage = {
      messageId: randomUUID(),
      body,
      attributes: {},
      group: undefined,
      trace: undefined,
      sentAt: this.#now().getTime(),
      receives: 0,
      hiddenUntil: 0,
      ...more,
    };
    this.#queue(queueUrl).set(message.messageId, message);
    return message;
  }

  get client(): Pick<SQSClient, 'send'> {
    const send = async (command: object) => {
      const name = command.constructor.name.replace(/Command$/, '');
      this.onCall(name);
      const failure = this.failures.get(name);
      if (failure) throw failure;
      return this.#answer(command);
    };
    return { send } as Pick<SQSClient, 'send'>;
  }

  #answer(command: object): unknown {
    const now = this.#now().getTime();
    if (command instanceof GetQueueAttributesCommand) {
      const all = this.of(command.input.QueueUrl ?? '');
      const visible = all.filter(({ hiddenUntil }) => hiddenUntil <= now).length;
      const counts = {
        ApproximateNumberOfMessages: visible,
        ApproximateNumberOfMessagesNotVisible: all.length - visible,
      };
      return {
        Attributes: Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, String(count)])),
      };
    }
    if (command instanceof ReceiveMessageCommand) {
      const { QueueUrl = '', MaxNumberOfMessages = 1, VisibilityTimeout = 30 } = command.input;
      const free = this.of(QueueUrl).filter(({ hiddenUntil }) => hiddenUntil <= now);
      const taken = free.slice(0, MaxNumberOfMessages);
      for (const message of taken) {
        message.receives += 1;
        message.hiddenUntil = now + VisibilityTimeout * 1000;
      }
      return taken.length === 0 ? {} : { Messages: taken.map(received) };
    }
    if (command instanceof ChangeMessageVisibilityBatchCommand) {
      const { QueueUrl = '', Entries = [] } = command.input;
      for (const { ReceiptHandle = '', VisibilityTimeout = 0 } of Entries) {
        const message = this.#queue(QueueUrl).get(ReceiptHandle);
        if (message) message.hiddenUntil = now + VisibilityTimeout * 1000;
      }
      return {};
    }
    if (command instanceof SendMessageCommand) {
      const { QueueUrl = '', MessageBody = '', MessageAttributes = {}, MessageGroupId } = command.input;
      const trace = command.input.MessageSystemAttributes?.AWSTraceHeader?.StringValue;
      const sent = { attributes: MessageAttributes, group: MessageGroupId, trace };
      return { MessageId: this.put(QueueUrl, MessageBody, sent).messageId };
    }
    if (command instanceof DeleteMessageCommand) {
      this.#queue(command.input.QueueUrl ?? '').delete(command.input.ReceiptHandle ?? '');
      return {};
    }
    throw new Error(`unexpected call ${command.constructor.name}`);
  }

  #queue(queueUrl: string): Map<string, FakeMessage> {
    const known = this.#queues.get(queueUrl) ?? new Map<string, FakeMessage>();
    this.#queues.set(queueUrl, known);
    return known;
  }
}

function received({ messageId, body, attributes, group, trace, sentAt, receives }: FakeMessage) {
  return {
    MessageId: messageId,
    ReceiptHandle: messageId,
    Body: body,
    ...(Object.keys(attributes).length > 0 && { MessageAttributes: attributes }),
    Attributes: {
      SentTimestamp: String(sentAt),
      ApproximateReceiveCount: String(receives),
      ...(group !== undefined && { MessageGroupId: group }),
      ...(trace !== undefined && { AWSTraceHeader: trace }),
    },
  };
}
