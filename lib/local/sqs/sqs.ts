import { type BufferedService, parseJson, targetAction } from '../endpoint/buffered-service.ts';
import { accountId } from '../template/names.ts';
import type { QueueServer } from './queue-server.ts';

/** IAM action of an API action where the two differ. */
const iamActions: Readonly<Record<string, string>> = {
  SendMessageBatch: 'SendMessage',
  DeleteMessageBatch: 'DeleteMessage',
};

/**
 * SQS, by the embedded engine.
 *
 * @param visibility seconds for which a caller hides a message that was received
 */
export function localSqs(
  queueServer: Pick<QueueServer, 'call'>,
  region: string,
  visibility: { readonly least: number; readonly most: number },
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
      if (action !== 'ChangeMessageVisibility') return queueServer.call(action, input);
      const seconds = Math.min(Math.max(Number(input.VisibilityTimeout), visibility.least), visibility.most);
      return queueServer.call(action, { ...input, VisibilityTimeout: seconds });
    },
  };
}

/**
 * Shortest visibility timeout, in seconds, that the embedded engine stores. A timeout of 0 breaks a constraint in its
 * database, and the message is gone until the next start.
 */
export const shortestVisibility = 1;
