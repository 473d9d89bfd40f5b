import type { Construct } from 'constructs';
import { environment } from '../../contract/environment.ts';
import type { Functions } from '../functions/functions.ts';
import type { Settings } from '../settings.ts';
import type { StorageStack } from '../storage-stack.ts';
import { receivesOfLongWork, WorkQueue, workQueueNames } from './queues.ts';
import type { Redrive } from './redrive.ts';

/** Files of at most 8 MiB that one invocation stages. */
const smallFilesTogether = 10;

interface WorkQueuesProps {
  readonly settings: Settings;
  readonly storage: StorageStack;
  readonly functions: Functions;
  readonly redrive: Redrive;
}

/** The queues of the service, in the order in which an export passes them. */
export type WorkQueues = Readonly<Record<keyof ReturnType<typeof workQueueNames>, WorkQueue>>;

/** Make the queues between the functions. */
export function workQueues(scope: Construct, { settings, storage, functions, redrive }: WorkQueuesProps): WorkQueues {
  const { exportRequest } = functions.proxy;
  const { consumeExport, stageFile, sweepDeliveries, settleDelivery } = functions.workers;
  const names = workQueueNames(settings.stage);
  const { retryDelaysSeconds, concurrency } = settings;
  const smallBatches = concurrency.smallFileExports ?? concurrency.fileExports;
  const filesInFlight = String(concurrency.fileExports + smallBatches * smallFilesTogether);
  for (const target of [consumeExport, stageFile, sweepDeliveries]) {
    target.configure(environment.filesInFlight, filesInFlight);
  }
  return {
    // One message an invocation: a request may fan out into two million files and a file may be a terabyte, so two of them
    // must not share one time limit, nor one spend the other's receives.
    exportRequests: new WorkQueue(scope, 'ExportRequests', {
      batchSize: 1,
      maxReceiveCount: receivesOfLongWork,
      name: names.exportRequests,
      senders: [exportRequest],
      worker: consumeExport,
      redrive,
      deadLetters: storage.exportRequestsDeadLetters.queue,
      key: storage.exportRequestsKey,
      maxConcurrency: concurrency.exportRequests,
      variable: environment.exportRequestsQueueUrl,
      receivesVariable: environment.exportRequestsReceives,
      retryDelaysSeconds,
    }),
    fileExports: new WorkQueue(scope, 'FileExports', {
      batchSize: 1,
      maxReceiveCount: receivesOfLongWork,
      name: names.fileExports,
      senders: [consumeExport],
      worker: stageFile,
      redrive,
      deadLetters: storage.fileExportsDeadLetters.queue,
      maxConcurrency: concurrency.fileExports,
      variable: environment.fileExportsQueueUrl,
      receivesVariable: environment.fileExportsReceives,
      retryDelaysSeconds,
    }),
    // Ten of these files take a second, one query and one statement that records them.
    smallFileExports: new WorkQueue(scope, 'SmallFileExports', {
      batchSize: smallFilesTogether,
      name: names.smallFileExports,
      senders: [consumeExport],
      worker: stageFile,
      redrive,
      deadLetters: storage.smallFileExportsDeadLetters.queue,
      maxConcurrency: smallBatches,
      variable: environment.smallFileExportsQueueUrl,
      receivesVariable: environment.smallFileExportsReceives,
      retryDelaysSeconds,
    }),
    // One settled request an invocation: the receipt for 100,000 files takes minutes.
    deliveries: new WorkQueue(scope, 'Deliveries', {
      batchSize: 1,
      name: names.deliveries,
      senders: [consumeExport, stageFile, sweepDeliveries],
      worker: settleDelivery,
      redrive,
      deadLetters: storage.deliveriesDeadLetters.queue,
      maxConcurrency: concurrency.exportRequests,
      variable: environment.deliveriesQueueUrl,
      retryDelaysSeconds,
    }),
  };
}
