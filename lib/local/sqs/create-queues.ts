import type { Deployment } from '../template/deployment.ts';
import { optionalNumber, type Resource, record } from '../template/template.ts';
import type { QueueServer } from './queue-server.ts';

/** Attributes of SQS that the template may set under the same name. */
const numbers = [
  'DelaySeconds',
  'MaximumMessageSize',
  'MessageRetentionPeriod',
  'ReceiveMessageWaitTimeSeconds',
  'VisibilityTimeout',
];

/** Make the queues of the template, or bring those of an earlier run to what the template says now. */
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
