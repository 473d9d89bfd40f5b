import { buildApp } from 'fauxqs';
import type { JsonObject } from '../endpoint/buffered-service.ts';
import type { AwsReply } from '../endpoint/errors.ts';
import { EngineError } from '../errors.ts';
import type { Deployment } from '../template/deployment.ts';
import { optionalNumber, type Resource, record } from '../template/template.ts';

type Store = NonNullable<NonNullable<Parameters<typeof buildApp>[0]>['stores']>['sqsStore'];
interface Persistence {
  loadSqsAndSns(queues: Store, topics: unknown): void;
  close(): void;
}

/** The embedded SQS engine. It lives in this process and has no socket, so only the engine calls it. */
export type QueueServer = Awaited<ReturnType<typeof startQueueServer>>;

/**
 * Start the engine.
 *
 * @param queuesDir folder that keeps its state. `undefined`: it is kept in memory.
 */
export async function startQueueServer(region: string, queuesDir: string | undefined) {
  const kept = queuesDir === undefined ? undefined : await keptQueues(queuesDir);
  const app = buildApp({ logger: false, defaultRegion: region, ...(kept && { stores: kept.stores }) });
  /** One SQS action in its JSON protocol. */
  const call = async (action: string, input: JsonObject): Promise<AwsReply> => {
    const { statusCode, headers, payload } = await app.inject({
      ...{ method: 'POST', url: '/', payload: JSON.stringify(input) },
      headers: { 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': `AmazonSQS.${action}` },
    });
    const shown = ['content-type', 'x-amzn-query-error'].flatMap((name) =>
      headers[name] === undefined ? [] : [[name, String(headers[name])]],
    );
    return { status: statusCode, headers: Object.fromEntries(shown) as Record<string, string>, body: payload };
  };
  return {
    call,
    /** The same. @throws EngineError with the code of a refusal. */
    async sqs(action: string, input: JsonObject): Promise<Record<string, unknown>> {
      const { status, body } = await call(action, input);
      const output = JSON.parse(body || '{}') as Record<string, unknown>;
      if (status !== 200) throw new EngineError(`${action}: ${String(output.__type)} ${String(output.message)}`);
      return output;
    },
    async stop(): Promise<void> {
      await app.close();
      kept?.persistence.close();
    },
  };
}

/** Queues that a folder keeps. The package exports no part for it but its server, which would listen on every interface. */
async function keptQueues(folder: string) {
  const part = (path: string) => import(new URL(path, import.meta.resolve('fauxqs')).href);
  const [{ SqsStore }, { SnsStore }, { S3Store }, { PersistenceManager }] = await Promise.all(
    ['./sqs/sqsStore.js', './sns/snsStore.js', './s3/s3Store.js', './persistence.js'].map(part),
  );
  const persistence = new PersistenceManager(folder) as Persistence;
  const stores = { sqsStore: new SqsStore() as Store, snsStore: new SnsStore(), s3Store: new S3Store() };
  persistence.loadSqsAndSns(stores.sqsStore, stores.snsStore);
  Object.assign(stores.sqsStore, { persistence });
  for (const queue of stores.sqsStore.allQueues()) Object.assign(queue, { persistence });
  return { persistence, stores };
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
