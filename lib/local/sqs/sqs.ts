import { type BufferedService, type JsonObject, parseJson, targetAction } from '../endpoint/buffered-service.ts';
import { readAll } from '../http.ts';
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
    async handle(action, input, body, headers) {
      const sent = isPersistent && action.startsWith('ChangeMessageVisibility') ? neverAtOnce(input) : body;
      const response = await queueServer.forward(endToEnd(headers), sent);
      const reply = (await readAll(response, 16 * 1024 * 1024)) ?? Buffer.alloc(0);
      return { status: response.statusCode ?? 502, headers: endToEnd(response.headers), body: reply.toString() };
    },
  };
}

/**
 * Shortest visibility timeout, in seconds, that the embedded engine stores. A timeout of 0 breaks a constraint in its
 * database, and the message is gone until the next start.
 */
export const shortestVisibility = 1;

/** A request to change the visibility of one message, or of each of a batch, as the embedded engine can take it. */
function neverAtOnce({ Entries: entries, ...single }: JsonObject & { Entries?: readonly JsonObject[] }): Uint8Array {
  const change = (entry: JsonObject) =>
    entry.VisibilityTimeout === 0 ? { ...entry, VisibilityTimeout: shortestVisibility } : entry;
  const changed = entries === undefined ? change(single) : { ...single, Entries: entries.map(change) };
  return Buffer.from(JSON.stringify(changed));
}

/** Headers that belong to one connection, RFC 9110 § 7.6.1, or to the body as it was. */
const hopByHop = new Set(
  'connection keep-alive te trailer transfer-encoding upgrade host expect content-length'.split(' '),
);

function endToEnd(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const kept = Object.entries(headers).filter(([name]) => !hopByHop.has(name));
  return Object.fromEntries(kept) as Record<string, string>;
}
