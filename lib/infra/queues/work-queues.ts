import type { Construct } from 'constructs';
import { environment } from '../../contract/environment.ts';
import type { Functions } from '../functions/functions.ts';
import type { Settings } from '../settings.ts';
import type { StorageStack } from '../storage-stack.ts';
import { type Redrive, receivesOfLongWork, WorkQueue, type WorkQueueName, type WorkQueueProps } from './queues.ts';

/** Files of at most 8 MiB that one invocation stages. */
const smallFilesTogether = 10;

interface WorkQueuesProps {
  readonly settings: Settings;
  readonly storage: StorageStack;
  readonly functions: Functions;
  readonly redrive: Redrive;
}

export type WorkQueues = Readonly<Record<WorkQueueName, WorkQueue>>;

/** Make the queues between the functions. */
export function workQueues(scope: Construct, { settings, storage, functions, redrive }: WorkQueuesProps): WorkQueues {
  const { exportRequest } = functions.proxy;
  const { consumeExport, stageFile, sweepDeliveries, settleDelivery } = functions.workers;
  const { retryDelaysSeconds, concurrency } = settings;
  const smallBatches = concurrency.smallFileExports ?? concurrency.fileExports;
  const filesInFlight = String(concurrency.fileExports + smallBatches * smallFilesTogether);
  for (const target of [consumeExport, stageFile, sweepDeliveries]) {
    target.configure(environment.filesInFlight, filesInFlight);
  }
  type Own = Omit<WorkQueueProps, 'name' | 'stage' | 'redrive' | 'deadLetters' | 'retryDelaysSeconds'>;
  const queue = (name: WorkQueueName, own: Own) => {
    const deadLetters = storage.deadLetters[name].queue;
    return new WorkQueue(scope, { name, stage: settings.stage, redrive, deadLetters, retryDelaysSeconds, ...own });
  };
  return {
    // One message an invocation: a request may fan out into two million files and a file may be a terabyte, so two of them
    // must not share one time limit, nor one spend the other's receives.
    exportRequests: queue('exportRequests', {
      batchSize: 1,
      maxReceiveCount: receivesOfLongWork,
      senders: [exportRequest],
      worker: consumeExport,
      key: storage.exportRequestsKey,
      maxConcurrency: concurrency.exportRequests,
      receivesVariable: environment.exportRequestsReceives,
    }),
    fileExports: queue('fileExports', {
      batchSize: 1,
      maxReceiveCount: receivesOfLongWork,
      senders: [consumeExport],
      worker: stageFile,
      maxConcurrency: concurrency.fileExports,
      receivesVariable: environment.fileExportsReceives,
    }),
    // Ten of these files take a second, one query and one statement that records them.
    smallFileExports: queue('smallFileExports', {
      batchSize: smallFilesTogether,
      senders: [consumeExport],
      worker: stageFile,
      maxConcurrency: smallBatches,
      receivesVariable: environment.smallFileExportsReceives,
    }),
    // One settled request an invocation: the receipt for 100,000 files takes minutes.
    deliveries: queue('deliveries', {
      batchSize: 1,
      senders: [consumeExport, stageFile, sweepDeliveries],
      worker: settleDelivery,
      maxConcurrency: concurrency.exportRequests,
    }),
  };
}
