import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  type Message,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { AssumeRoleCommand, STSClient } from '@aws-sdk/client-sts';
import * as z from 'zod';
import { parseJson, unverifiedClaims, visasIn } from '../../common/untrusted-json.ts';
import { deliveryMessage, exportRequestAttributes } from '../../contract/messages.ts';
import { outboxPrefix } from '../../contract/outbox-key.ts';
import { DataOutError } from '../../errors.ts';
import { forEachConcurrently } from '../../service/archive/concurrency.ts';
import { idsOf } from '../../service/export/received.ts';
import { errorName, storeFailure } from '../../service/stores/aws-failure.ts';
import type { AwsClientOptions } from '../../service/stores/clients.ts';

/** What may be told of a message that failed for good. It holds no visa and no key. */
export interface DeadLetter {
  /** Short name of the work queue, such as `file-exports`. */
  readonly queue: string;
  readonly messageId: string;
  /** When the message was sent, ISO 8601 in UTC. */
  readonly sentAt: string;
  /** How often it was received, by the function and by a listing like this one. */
  readonly receives: number;
  /** `null`: the message cannot be read, and has no request id beside its body. */
  readonly requestId: string | null;
  readonly datasetId: string | null;
  readonly fileId: string | null;
}

/** A dead letter that other readers do not see for now. */
export interface ReceivedLetter {
  readonly letter: DeadLetter;
  /** Outbox prefixes of the people whom the message names. Nothing in it was verified. `undefined`: it cannot be read. */
  readonly people: readonly string[] | undefined;
  /**
   * Send it to its work queue as it was sent first, then delete it here. If the deletion fails, it is in both queues, and a
   * second replay does no harm.
   * @returns its new message id. It keeps that id when it fails again
   */
  replay(): Promise<string>;
  remove(): Promise<void>;
  /** For {@link DeadLetterQueue.release}. */
  readonly receiptHandle: string;
}

/** Batches that are released at once. */
const parallel = 10;
const subjectClaims = z.object({ iss: z.string(), sub: z.string() });

/**
 * The dead-letter queue of one work queue.
 * @param queue.name short name of the work queue
 * @param queue.workQueueUrl where a replay sends messages
 */
export function deadLetterQueue({
  client,
  name,
  queueUrl: QueueUrl,
  workQueueUrl,
}: {
  readonly client: Pick<SQSClient, 'send'>;
  readonly name: string;
  readonly queueUrl: string;
  readonly workQueueUrl: string;
}) {
  const sent = <T>(call: Promise<T>): Promise<T> =>
    call.catch((error: unknown) => {
      // KmsDisabled, KmsInvalidState, KmsAccessDenied, KmsNotFound, KmsOptInRequired. Throttling passes.
      if (!/^kms(?!throttled)/i.test(errorName(error))) throw storeFailure(error, 'SQS');
      throw new DataOutError(
        'forbidden',
        `SQS cannot use the customer key of ${name} (${errorName(error)}): enable the key ExportRequestsKey of the storage stack, wait five minutes, and try again. The messages stay where they are`,
        { cause: error },
      );
    });
  const received = (message: Message): ReceivedLetter => {
    const { ReceiptHandle: receiptHandle = '' } = message;
    const remove = async () => {
      await sent(client.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: receiptHandle })));
    };
    return {
      letter: letterOf(name, message),
      people: peopleIn(parseJson(message.Body ?? '')),
      receiptHandle,
      replay: async () => {
        const { MessageId = '' } = await sent(client.send(sendAgain(message, workQueueUrl)));
        await remove();
        return MessageId;
      },
      remove,
    };
  };
  return {
    name,

    /** About how many messages there are, those that a reader holds included. */
    async count(): Promise<number> {
      const AttributeNames = ['ApproximateNumberOfMessages', 'ApproximateNumberOfMessagesNotVisible'] as const;
      const command = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: [...AttributeNames] });
      const { Attributes } = await sent(client.send(command));
      return AttributeNames.reduce((sum, attribute) => sum + Number(Attributes?.[attribute] ?? 0), 0);
    },

    /**
     * Up to ten messages that no reader holds. None is lost: each is back after `seconds`, or by `release`. A dead-letter queue
     * has no limit of receives.
     */
    async take(seconds: number): Promise<readonly ReceivedLetter[]> {
      const command = new ReceiveMessageCommand({
        QueueUrl,
        MaxNumberOfMessages: 10,
        VisibilityTimeout: seconds,
        // A long poll asks every server of SQS; a short one may miss messages.
        WaitTimeSeconds: 1,
        MessageAttributeNames: ['All'],
        MessageSystemAttributeNames: ['All'],
      });
      const { Messages = [] } = await sent(client.send(command));
      return Messages.map(received);
    },

    /** Let other readers see messages again. What fails here is back when its time is over. */
    async release(letters: readonly ReceivedLetter[]): Promise<void> {
      const batches = Array.from({ length: Math.ceil(letters.length / 10) }, (_, index) =>
        letters.slice(index * 10, index * 10 + 10),
      );
      await forEachConcurrently(batches, parallel, async (batch) => {
        const Entries = batch.map(({ receiptHandle: ReceiptHandle }, index) => ({
          Id: String(index),
          ReceiptHandle,
          VisibilityTimeout: 0,
        }));
        await sent(client.send(new ChangeMessageVisibilityBatchCommand({ QueueUrl, Entries })));
      });
    },
  };
}

/** Messages of one work queue that failed for good. */
export type DeadLetterQueue = ReturnType<typeof deadLetterQueue>;

/** The message as it was sent: body, attributes, message group and trace. Its id and its count of receives are new. */
function sendAgain({ Body, MessageAttributes, Attributes }: Message, workQueueUrl: string): SendMessageCommand {
  const { MessageGroupId: group, AWSTraceHeader: trace } = Attributes ?? {};
  return new SendMessageCommand({
    QueueUrl: workQueueUrl,
    MessageBody: Body,
    ...(MessageAttributes && { MessageAttributes }),
    ...(group !== undefined && { MessageGroupId: group }),
    ...(trace !== undefined && {
      MessageSystemAttributes: { AWSTraceHeader: { DataType: 'String', StringValue: trace } },
    }),
  });
}

function letterOf(queue: string, { MessageId = '', Body = '', MessageAttributes, Attributes }: Message): DeadLetter {
  const ids = idsOf(Body, MessageAttributes?.[exportRequestAttributes.requestId]?.StringValue);
  return {
    queue,
    messageId: MessageId,
    sentAt: new Date(Number(Attributes?.SentTimestamp ?? 0)).toISOString(),
    receives: Number(Attributes?.ApproximateReceiveCount ?? 0),
    requestId: ids.requestId ?? null,
    datasetId: ids.datasetId ?? null,
    fileId: ids.fileId ?? null,
  };
}

/** Looser than the messages' own schemas: a message may have failed because it breaks them. */
const namingPeople = z.union([
  z.object({ jwtToken: z.string() }).transform(({ jwtToken }) => peopleOfToken(jwtToken)),
  z
    .object({ recipient: z.string(), dependsOn: z.array(z.string()).catch([]) })
    .transform(({ recipient, dependsOn }) => [recipient, ...dependsOn]),
  // A message of `deliveries` names a request alone.
  deliveryMessage.transform((): readonly string[] => []),
]);

function peopleIn(body: unknown): readonly string[] | undefined {
  return namingPeople.safeParse(body).data;
}

/** The subjects of a token and of the visas in it; `undefined`: one of them cannot be read. */
function peopleOfToken(token: string): readonly string[] | undefined {
  const people = [token, ...(visasIn(token) ?? [])].map((each) => subjectClaims.safeParse(unverifiedClaims(each)).data);
  const known = people.filter((each) => each !== undefined);
  return known.length === people.length ? known.map(outboxPrefix) : undefined;
}

/**
 * Client for SQS under a role that it takes on before its first call, for an hour at a time.
 *
 * @returns a client whose calls throw `forbidden` when the caller may not take on the role
 */
export function redriveClient(roleArn: string, clientOptions: (service: 'sqs' | 'sts') => AwsClientOptions): SQSClient {
  const sts = new STSClient(clientOptions('sts'));
  return new SQSClient({ ...clientOptions('sqs'), credentials: () => assume(roleArn, sts) });
}

async function assume(roleArn: string, sts: STSClient) {
  const input = { RoleArn: roleArn, RoleSessionName: 'data-out-ops' };
  const { Credentials: given } = await sts.send(new AssumeRoleCommand(input)).catch((error: unknown) => {
    if (errorName(error) !== 'AccessDenied') throw storeFailure(error, 'STS');
    throw new DataOutError(
      'forbidden',
      `these credentials may not take on the role ${roleArn}: allow sts:AssumeRole on it in their own policies, or deploy the service stack if the role is gone`,
      { cause: error },
    );
  });
  if (!given?.AccessKeyId || !given.SecretAccessKey) throw new Error('STS gave no credentials');
  return {
    accessKeyId: given.AccessKeyId,
    secretAccessKey: given.SecretAccessKey,
    ...(given.SessionToken && { sessionToken: given.SessionToken }),
    ...(given.Expiration && { expiration: given.Expiration }),
  };
}
