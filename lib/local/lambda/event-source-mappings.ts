import { setTimeout as sleep } from 'node:timers/promises';
import type { AwsServices } from '../endpoint/endpoint.ts';
import { EngineError, UnsupportedTemplateError } from '../errors.ts';
import type { QueueServer } from '../sqs/queue-server.ts';
import { shortestVisibility } from '../sqs/sqs.ts';
import type { Deployment } from '../template/deployment.ts';
import { list, type Resource, record, text, whereOf } from '../template/template.ts';
import type { Functions } from './functions.ts';
import { type ReceivedMessage, succeeded, toRecord } from './sqs-event.ts';

/** One event-source mapping from a queue to a function. */
type Mapping = ReturnType<typeof readMapping>;
type Authority = Pick<AwsServices, 'access' | 'keyUses'>;

/** A long poll also ends when the engine stops, so it is kept short. */
const pollSeconds = 1;
/** Permissions that Lambda needs to poll in a function's name. */
const pollActions = ['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes'];

/** Lambda's side of SQS: polls queues, invokes functions, deletes the messages that they have handled. */
export class EventSources {
  readonly #queueServer: QueueServer;
  readonly #functions: Functions;
  readonly #region: string;
  readonly #loops: readonly Promise<void>[];
  readonly #inFlight = new Map<string, { readonly mapping: Mapping; readonly message: ReceivedMessage }>();
  #stopping = false;

  /** Start polling. @param authority by which it is authorised */
  constructor(deployment: Deployment, queueServer: QueueServer, functions: Functions, authority: Authority) {
    this.#queueServer = queueServer;
    this.#functions = functions;
    this.#region = deployment.region;
    this.#loops = deployment
      .resources('AWS::Lambda::EventSourceMapping')
      .filter((resource) => resource.property('Enabled') !== false)
      .map((resource) => this.#poll(readMapping(resource, deployment, functions, authority)));
  }

  /**
   * Stop polling. Messages in flight become visible again soon, for the next start.
   *
   * @param afterPolling called when nothing more is received, to end the invocations.
   */
  async stop(afterPolling: () => Promise<void>): Promise<void> {
    this.#stopping = true;
    await Promise.all(this.#loops);
    await afterPolling();
    for (const { mapping, message } of this.#inFlight.values()) {
      const VisibilityTimeout = shortestVisibility;
      const input = { QueueUrl: mapping.queueUrl, ReceiptHandle: message.ReceiptHandle, VisibilityTimeout };
      await this.#queueServer.sqs('ChangeMessageVisibility', input).catch(unlessVisibleAlready);
    }
  }

  async #poll(mapping: Mapping): Promise<void> {
    const running = new Set<Promise<void>>();
    while (!this.#stopping) {
      if (running.size >= mapping.concurrency) {
        await Promise.race([...running, sleep(500)]);
        continue;
      }
      const messages = await this.#receive(mapping);
      if (messages.length === 0) continue;
      for (const message of messages) this.#inFlight.set(message.ReceiptHandle, { mapping, message });
      const batch = this.#process(mapping, messages).finally(() => running.delete(batch));
      running.add(batch);
    }
  }

  async #receive(mapping: Mapping): Promise<readonly ReceivedMessage[]> {
    try {
      const { Messages = [] } = await this.#queueServer.sqs('ReceiveMessage', {
        QueueUrl: mapping.queueUrl,
        MaxNumberOfMessages: mapping.batchSize,
        WaitTimeSeconds: pollSeconds,
        AttributeNames: ['All'],
        MessageAttributeNames: ['All'],
      });
      return Messages as readonly ReceivedMessage[];
    } catch {
      // A test may delete a queue. Try again, as Lambda does.
      if (!this.#stopping) await sleep(pollSeconds * 1000);
      return [];
    }
  }

  async #process(mapping: Mapping, messages: readonly ReceivedMessage[]): Promise<void> {
    const Records = messages.map((message) => toRecord(message, mapping.queueArn, this.#region));
    const result = await this.#functions.invoke(mapping.functionArn, { Records });
    // stop() gives back the messages of the invocations that it kills.
    if (this.#stopping && !result.ok) return;
    const done = result.ok ? succeeded(messages, result.payload) : [];
    for (const { ReceiptHandle } of done) {
      const input = { QueueUrl: mapping.queueUrl, ReceiptHandle };
      await this.#queueServer.sqs('DeleteMessage', input).catch(unlessVisibleAlready);
    }
    for (const { ReceiptHandle } of messages) this.#inFlight.delete(ReceiptHandle);
  }
}

/** A message whose visibility timeout has passed is received again, as SQS does it. */
function unlessVisibleAlready(error: unknown): void {
  if (!(error instanceof EngineError)) throw error;
}

function readMapping(resource: Resource, deployment: Deployment, functions: Functions, { access, keyUses }: Authority) {
  const where = whereOf(resource);
  const queueArn = text(resource, 'EventSourceArn');
  const queue = deployment.resources('AWS::SQS::Queue').find((candidate) => candidate.attribute('Arn') === queueArn);
  if (!queue) throw new UnsupportedTemplateError(where, `the event source ${queueArn} is not a queue of the template`);
  const target = text(resource, 'FunctionName');
  const lambda = deployment
    .resources('AWS::Lambda::Function')
    .find(({ id, attribute }) => id === target || attribute('Arn') === target);
  if (!lambda) throw new UnsupportedTemplateError(where, `there is no function ${target}`);
  const definition = functions.definition(lambda.attribute('Arn'));
  const polling = pollActions.map((action) => ({ action, resource: queueArn }));
  access.demand(definition.principal, [...polling, ...keyUses('sqs', 'ReceiveMessage', polling)], where);
  if (!list(resource.property('FunctionResponseTypes')).includes('ReportBatchItemFailures')) {
    throw new UnsupportedTemplateError(where, 'a function must report the messages of a batch that failed');
  }
  return {
    queueArn,
    queueUrl: queue.id,
    functionArn: definition.arn,
    batchSize: Number(text(resource, 'BatchSize')),
    concurrency: Number(record(resource.property('ScalingConfig')).MaximumConcurrency),
  };
}
