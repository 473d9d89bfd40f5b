/**
 * What a worker thread of `SegmentWorkers` runs. In a bundle this file has to be an entry of its own, beside the bundle
 * and under the name `segment-worker.js`, or wherever `SegmentWorkers` is told.
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
    // An error loses its code on the way between threads; ENOSPC and the like say what to do next.
    const { message, code } = error as NodeJS.ErrnoException;
    post({ error: { message, ...(code === undefined ? {} : { code }) } });
  }
});
