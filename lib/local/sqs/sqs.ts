import { type BufferedService, type JsonObject, parseJson, targetAction } from '../endpoint/buffered-service.ts';
import { accountId } from '../template/names.ts';
import type { QueueServer } from './queue-server.ts';

/** IAM action of an API action where the two differ. */
const iamActions: Readonly<Record<string, string>> = {
  SendMessageBatch: 'SendMessage',
  DeleteMessageBatch: 'DeleteMessage',
};

/** Seconds for which a caller hides a message that was received. */
export interface VisibilityLimits {
  readonly least: number;
  readonly most: number;
}

/** SQS, by the embedded engine. */
export function localSqs(
  queueServer: Pick<QueueServer, 'call'>,
  region: string,
  visibility: VisibilityLimits,
): BufferedService {
  return {
    parse(_path, headers, body) {
      const action = targetAction(headers, 'AmazonSQS');
      const input = parseJson(body);
      const queue = String(input.QueueUrl ?? input.QueueName ?? '*')
        .split('/')
        .at(-1);
      const resource = `arn:aws:sqs:${region}:${accountId}:${queue}`;
      return { action, input, permissions: [{ action: `sqs:${iamActions[action] ?? action}`, resource }] };
    },
    async handle(action, input) {
      const isChange = action === 'ChangeMessageVisibility';
      return queueServer.call(action, isChange ? within(visibility, input) : input);
    },
  };
}

/**
 * Shortest visibility timeout, in seconds, that the embedded engine stores. A timeout of 0 breaks a constraint in its
 * database, and the message is gone until the next start.
 */
export const shortestVisibility = 1;

/** A request to change the visibility of one message, held between the limits. */
function within({ least, most }: VisibilityLimits, input: JsonObject): JsonObject {
  const seconds = Number(input.VisibilityTimeout);
  return { ...input, VisibilityTimeout: Math.min(Math.max(seconds, least), most) };
}
