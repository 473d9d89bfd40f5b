import { type JsonObject, type JsonService, parseJson, targetAction } from '../endpoint/json-service.ts';
import { endToEnd, readAll } from '../http.ts';
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
  queueServer: Pick<QueueServer, 'forward'>,
  region: string,
  isPersistent: boolean,
): JsonService {
  return {
    parse(_path, headers, body) {
      const action = targetAction(headers, 'AmazonSQS');
      const input = parseJson(body);
      const queue = String(input['QueueUrl'] ?? input['QueueName'] ?? '*')
        .split('/')
        .at(-1);
      const resource = `arn:aws:sqs:${region}:${accountId}:${queue}`;
      return { action, input, permissions: [{ action: `sqs:${iamActions[action] ?? action}`, resource }] };
    },
    async handle(action, input, body, headers) {
      const { 'content-length': _, ...others } = endToEnd(headers);
      const sent = isPersistent && action.startsWith('ChangeMessageVisibility') ? neverAtOnce(input) : body;
      const response = await queueServer.forward(others, sent);
      const reply = (await readAll(response, 16 * 1024 * 1024)) ?? Buffer.alloc(0);
      const { 'content-length': __, ...rest } = endToEnd(response.headers);
      return { status: response.statusCode ?? 502, headers: rest as Record<string, string>, body: reply.toString() };
    },
  };
}

/**
 * Shortest visibility timeout, in seconds, that the embedded engine stores: with a timeout of 0 its update breaks a
 * constraint of its own database, and the message is gone until the next start.
 */
export const shortestVisibility = 1;

function neverAtOnce(input: JsonObject): Uint8Array {
  const longer = (entry: JsonObject) =>
    entry['VisibilityTimeout'] === 0 ? { ...entry, VisibilityTimeout: shortestVisibility } : entry;
  const { Entries: entries, ...single } = longer(input) as JsonObject & { Entries?: readonly JsonObject[] };
  return Buffer.from(JSON.stringify(entries === undefined ? single : { ...single, Entries: entries.map(longer) }));
}
