import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Agent, type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { compileCache } from '../compile-cache.ts';
import { EngineError } from '../errors.ts';
import type { Deployment } from '../template/deployment.ts';
import { optionalNumber, type Resource, record } from '../template/template.ts';
import { optionsVariable, type QueueServerOptions, secretHeader } from './queue-server-process.ts';

/** The embedded SQS engine. A secret of this run keeps out every caller but the AWS endpoint and the engine itself. */
export interface QueueServer {
  /** Send a request of the JSON protocol as it is. */
  forward(headers: OutgoingHttpHeaders, body: Uint8Array): Promise<IncomingMessage>;
  /** One SQS action in its JSON protocol. @throws EngineError with the code of a refusal. */
  sqs(action: string, input: Readonly<Record<string, unknown>>): Promise<Record<string, unknown>>;
  stop(): Promise<void>;
}

/**
 * Start the engine.
 *
 * @param queuesDir folder that keeps its state. `undefined`: it is kept in memory.
 * @param onDeath called when its process ends unexpectedly.
 */
export async function startQueueServer(
  region: string,
  queuesDir: string | undefined,
  onDeath: () => void,
): Promise<QueueServer> {
  const options: QueueServerOptions = { region, secret: randomBytes(32).toString('hex'), queuesDir };
  const child = fork(fileURLToPath(new URL('./queue-server-process.ts', import.meta.url)), [], {
    execArgv: ['--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: { ...process.env, ...compileCache, [optionsVariable]: JSON.stringify(options) },
  });
  const exited = once(child, 'exit');
  const started = await Promise.race([once(child, 'message'), exited.then(() => undefined)]);
  if (!started) throw new EngineError('the embedded SQS engine did not start');
  const { port } = started[0] as { port: number };
  const agent = new Agent({ keepAlive: true });
  let stopping = false;
  void exited.then(() => stopping || onDeath());
  const forward: QueueServer['forward'] = (given, body) =>
    new Promise((resolve, reject) => {
      const headers = { ...given, 'content-length': body.length, [secretHeader]: options.secret };
      const outgoing = request({ host: '127.0.0.1', port, method: 'POST', path: '/', headers, agent }, resolve);
      outgoing.on('error', reject);
      outgoing.end(body);
    });
  return {
    forward,
    async sqs(action, input) {
      const headers = { 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': `AmazonSQS.${action}` };
      const response = await forward(headers, Buffer.from(JSON.stringify(input)));
      const output = JSON.parse((await text(response)) || '{}') as Record<string, unknown>;
      if (response.statusCode !== 200) {
        throw new EngineError(`${action}: ${String(output.__type)} ${String(output.message)}`);
      }
      return output;
    },
    async stop() {
      stopping = true;
      if (child.connected) child.disconnect();
      const killer = setTimeout(() => child.kill('SIGKILL'), 5_000);
      await exited;
      clearTimeout(killer);
    },
  };
}

/** Attributes of SQS that the template may set under the same name. */
const numbers = [
  'DelaySeconds',
  'MaximumMessageSize',
  'MessageRetentionPeriod',
  'ReceiveMessageWaitTimeSeconds',
  'VisibilityTimeout',
];

/** Make the queues of the template, or update the queues of an earlier run to the template. */
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
    // As a number: the queue server does not convert it.
    const policy = { deadLetterTargetArn, maxReceiveCount: Number(maxReceiveCount) };
    attributes.push(['RedrivePolicy', JSON.stringify(policy)]);
  }
  return Object.fromEntries(attributes) as Record<string, string>;
}
