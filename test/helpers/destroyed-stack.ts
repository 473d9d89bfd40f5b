import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { startQueueServer } from '../../lib/local/sqs/queue-server.ts';
import { stackTemplate } from './template.ts';

/**
 * Do to the data folder of an engine that has ended what `cdk destroy DataOutService` does: every queue of the stack goes with
 * its messages, unless its template retains it. Functions and logs also go.
 *
 * @returns the names of the queues that are left
 */
export async function destroyServiceStack(dataDir: string): Promise<readonly string[]> {
  const { all } = await stackTemplate('DataOutService');
  const server = await startQueueServer('eu-north-1', join(dataDir, 'queues'));
  try {
    const kept: string[] = [];
    for (const { Properties, DeletionPolicy = 'Delete' } of all('AWS::SQS::Queue')) {
      const QueueName = String(Properties.QueueName);
      if (DeletionPolicy.startsWith('Retain')) kept.push(QueueName);
      else await server.sqs('DeleteQueue', await server.sqs('GetQueueUrl', { QueueName }));
    }
    for (const name of ['tasks', 'logs']) rmSync(join(dataDir, name), { recursive: true, force: true });
    return kept;
  } finally {
    await server.stop();
  }
}
