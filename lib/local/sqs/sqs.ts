import { type BufferedService, type JsonObject, parseJson, targetAction } from '../endpoint/buffered-service.ts';
import { readAll } from '../http.ts';
import { traceHeaderAttribute } from '../lambda/worker-protocol.ts';
import { accountId } from '../template/names.ts';
import { record } from '../template/template.ts';
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
      const sent = rewritten(action, input, isPersistent) ?? body;
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

/** A request as the embedded engine can take it. `undefined`: as it is. */
function rewritten(action: string, input: JsonObject, isPersistent: boolean): Uint8Array | undefined {
  if (action.startsWith('SendMessage')) return onEntries(input, keepTrace);
  if (isPersistent && action.startsWith('ChangeMessageVisibility')) return onEntries(input, neverAtOnce);
  return undefined;
}

/** The request with a change to it, or to each entry of a batch. */
function onEntries(input: JsonObject, change: (entry: JsonObject) => JsonObject): Uint8Array {
  const { Entries: entries, ...single } = change(input) as JsonObject & { Entries?: readonly JsonObject[] };
  return Buffer.from(JSON.stringify(entries === undefined ? single : { ...single, Entries: entries.map(change) }));
}

function neverAtOnce(entry: JsonObject): JsonObject {
  return entry.VisibilityTimeout === 0 ? { ...entry, VisibilityTimeout: shortestVisibility } : entry;
}

/** The embedded engine forgets system attributes, so it keeps the trace header among the others. */
function keepTrace({ MessageSystemAttributes: system, ...entry }: JsonObject): JsonObject {
  const header = record(system)[traceHeaderAttribute];
  if (header === undefined) return entry;
  return { ...entry, MessageAttributes: { ...record(entry.MessageAttributes), [traceHeaderAttribute]: header } };
}

/** Headers that belong to one connection, RFC 9110 § 7.6.1, or to the body as it was. */
const hopByHop = new Set(
  'connection keep-alive te trailer transfer-encoding upgrade host expect content-length'.split(' '),
);

function endToEnd(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const kept = Object.entries(headers).filter(([name]) => !hopByHop.has(name));
  return Object.fromEntries(kept) as Record<string, string>;
}
