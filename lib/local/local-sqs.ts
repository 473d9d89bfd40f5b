import { endToEnd, readAll, send } from './http.ts';
import { type JsonService, parseJson, targetAction } from './json-service.ts';
import { accountId } from './names.ts';

/** IAM action of an API action where the two differ. */
const iamActions: Readonly<Record<string, string>> = {
  SendMessageBatch: 'SendMessage',
  DeleteMessageBatch: 'DeleteMessage',
  ChangeMessageVisibilityBatch: 'ChangeMessageVisibility',
};

/** SQS, by the embedded engine. */
export function localSqs(emulatorPort: number, region: string): JsonService {
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
    async handle(_action, _input, body, headers) {
      const response = await send(emulatorPort, 'POST', '/', endToEnd(headers), body);
      const reply = (await readAll(response, 16 * 1024 * 1024)) ?? Buffer.alloc(0);
      const { 'content-length': _, ...rest } = endToEnd(response.headers);
      return { status: response.statusCode ?? 502, headers: rest as Record<string, string>, body: reply.toString() };
    },
  };
}
