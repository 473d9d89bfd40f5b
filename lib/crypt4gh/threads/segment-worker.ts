/**
 * The program of a worker thread of `SegmentWorkers`. In a bundle this file must be a separate entry beside the bundle, with
 * the name `segment-worker.js`, or at the `workerUrl` that `SegmentWorkers` is given.
 */
import { parentPort } from 'node:worker_threads';
import { runFileJob } from './file-job.ts';
import { runSegmentJob } from './segment-job.ts';
import type { WorkerAnswer, WorkerJob } from './worker-pool.ts';

function answer(job: WorkerJob): void {
  if ('source' in job) {
    post({ result: runFileJob(job) });
    return;
  }
  const result = runSegmentJob(job);
  post({ result }, [result.bytes.buffer]);
}

function post(message: WorkerAnswer, memory: ArrayBuffer[] = []): void {
  parentPort?.postMessage(message, memory);
}

parentPort?.on('message', (job: WorkerJob) => {
  try {
    answer(job);
  } catch (error) {
    // An error loses its code between threads, but a code such as ENOSPC tells the user what to do.
    const { message, code } = error as NodeJS.ErrnoException;
    post({ error: { message, ...(code === undefined ? {} : { code }) } });
  }
});
