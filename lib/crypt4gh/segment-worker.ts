/**
 * What a worker thread of `SegmentWorkers` runs. In a bundle this file has to be an entry of its own, beside the bundle
 * and under the name `segment-worker.js`, or wherever `SegmentWorkers` is told.
 */
import { parentPort } from 'node:worker_threads';
import { runSegmentJob, type SegmentJob } from './segment-job.ts';

parentPort?.on('message', (job: SegmentJob) => {
  const result = runSegmentJob(job);
  parentPort?.postMessage(result, [result.bytes.buffer]);
});
