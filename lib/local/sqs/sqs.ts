import { type BufferedService, type JsonObject, parseJson, targetAction } from '../endpoint/buffered-service.ts';
import { accountId } from '../template/names.ts';
import type { QueueServer } from './queue-server.ts';

/** IAM action of an API action where the two differ. */
const iamActions: Readonly<Record<string, string>> = {
  SendMessageBatch: 'SendMessage',
  DeleteMessageBatch: 'DeleteMessage',
  ChangeMessageVisibilityBatch: 'ChangeMessageVisibility',
};

/** SQS, by the embedded engine. */
export function localSqs(
  queueServer: Pick<QueueServer, 'call'>,
  region: string,
  isPersistent: boolean,
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
      const given = isPersistent && action.startsWith('ChangeMessageVisibility') ? neverAtOnce(input) : input;
      return queueServer.call(action, given);
    },
  };
}

/**
 * Shortest visibility timeout, in seconds, that the embedded engine stores. A timeout of 0 breaks a constraint in its
 * database, and the message is gone until the next start.
 */
export const shortestVisibility = 1;

/** A request to change the visibility of one message, or of each of a batch, as the embedded engine can take it. */
function neverAtOnce({ Entries: entries, ...single }: JsonObject & { Entries?: readonly JsonObject[] }): JsonObject {
  const change = (entry: JsonObject) =>
    entry.VisibilityTimeout === 0 ? { ...entry, VisibilityTimeout: shortestVisibility } : entry;
  return entries === undefined ? change(single) : { ...single, Entries: entries.map(change) };
}
