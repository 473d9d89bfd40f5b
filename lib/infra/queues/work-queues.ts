import type { Construct } from 'constructs';
import { environment } from '../../contract/environment.ts';
import type { Functions } from '../functions/functions.ts';
import type { Settings } from '../settings.ts';
import type { StorageStack } from '../storage-stack.ts';
import { type OperatorRole, WorkQueue, type WorkQueueName, type WorkQueueProps } from './queues.ts';

/** Files of at most 8 MiB that one invocation stages. */
const smallFilesTogether = 10;

interface WorkQueuesProps {
  readonly settings: Settings;
  readonly storage: StorageStack;
  readonly functions: Functions;
  readonly operators: OperatorRole;
}

export type WorkQueues = Readonly<Record<WorkQueueName, WorkQueue>>;

/** Make the queues between the functions. */
export function workQueues(scope: Construct, { settings, storage, functions, operators }: WorkQueuesProps): WorkQueues {
  const { exportRequest } = functions.delivery;
  const { consumeExport, stageFile, settleDelivery, recordDeadLetters, sweepDeliveries, withdraw } = functions.workers;
  const { concurrency } = settings;
  const smallBatches = concurrency.smallFileExports ?? concurrency.fileExports;
  stageFile.configure(environment.filesInFlight, String(concurrency.fileExports + smallBatches * smallFilesTogether));
  type Own = Omit<WorkQueueProps, 'name' | 'stage' | 'deadLetters' | 'recorder'>;
  const queue = (name: WorkQueueName, own: Own) => {
    const deadLetters = storage.deadLetters[name].queue;
    const common = { name, stage: settings.stage, deadLetters, recorder: recordDeadLetters };
    return new WorkQueue(scope, { ...common, ...own });
  };
  return {
    // One message an invocation: a request may have two million files and a file may be a terabyte, so two of them must not share
    // one time limit.
    exportRequests: queue('exportRequests', {
      batchSize: 1,
      senders: [exportRequest],
      worker: consumeExport,
      key: storage.exportRequestsKey,
      maxConcurrency: concurrency.exportRequests,
    }),
    fileExports: queue('fileExports', {
      batchSize: 1,
      senders: [consumeExport, stageFile, sweepDeliveries],
      operators,
      worker: stageFile,
      maxConcurrency: concurrency.fileExports,
    }),
    // Ten of these files take a second, one query and one statement that records them.
    smallFileExports: queue('smallFileExports', {
      batchSize: smallFilesTogether,
      senders: [consumeExport, sweepDeliveries],
      operators,
      worker: stageFile,
      maxConcurrency: smallBatches,
    }),
    // One request an invocation: the receipts of a large one take minutes.
    deliveries: queue('deliveries', {
      batchSize: 1,
      senders: [stageFile, recordDeadLetters, sweepDeliveries, ...(withdraw ? [withdraw] : [])],
      operators,
      worker: settleDelivery,
      maxConcurrency: concurrency.exportRequests,
    }),
  };
}
