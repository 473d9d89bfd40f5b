import { parentPort, workerData } from 'node:worker_threads';
import { type Kind, runCases } from './campaign.ts';

const { kind, seed, from, count, current } = workerData as {
  readonly kind: Kind;
  readonly seed: string;
  readonly from: number;
  readonly count: number;
  /** Index of the case that runs now, read by the thread that watches for one that never ends. */
  readonly current: Int32Array;
};

const counts = await runCases({ kind, seed, from, count, watch: (index) => Atomics.store(current, 0, index) });
parentPort?.postMessage(counts);
