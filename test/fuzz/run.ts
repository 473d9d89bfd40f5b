/**
 * Fuzzes lib/crypt4gh: `npm run fuzz -- [--seed text] [--headers N] [--containers N] [--keyFiles N] [--from N]`.
 *
 * Ends with 1 when a case fails by anything but an error of the library's own, runs longer than its time limit, or
 * makes the process larger than the memory limit. To run one case again: the same seed, its index as `--from`, a count
 * of 1 for its kind and 0 for the others.
 */
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { allKinds, type Counts, type Kind } from './campaign.ts';

const caseSeconds = 5;
const memoryMib = 512;

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: new Date().toISOString().slice(0, 10) },
    headers: { type: 'string', default: '1000000' },
    containers: { type: 'string', default: '100000' },
    keyFiles: { type: 'string', default: '100000' },
    from: { type: 'string', default: '0' },
  },
});

/** A whole number from the command line. */
function number(name: Kind | 'from'): number {
  const value = Number(values[name]);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new RangeError(`--${name}: expected a whole number, got ${values[name]}`);
}

/** Runs a kind in its own thread, because only another thread can see that a case does not end. */
async function watched(kind: Kind): Promise<Counts> {
  const current = new Int32Array(new SharedArrayBuffer(4)).fill(-1);
  const workerData = { kind, seed: values.seed, from: number('from'), count: number(kind), current };
  const worker = new Worker(new URL('worker.ts', import.meta.url), {
    workerData,
    resourceLimits: { maxOldGenerationSizeMb: memoryMib },
  });
  let last = -1;
  let since = performance.now();
  const { promise, resolve, reject } = Promise.withResolvers<Counts>();
  const watch = setInterval(() => {
    const now = Atomics.load(current, 0);
    if (now !== last) [last, since] = [now, performance.now()];
    else if (performance.now() - since > 1_000 * caseSeconds && now >= 0) {
      reject(new Error(`case ${now} of ${kind} runs longer than ${caseSeconds} s`));
    }
    if (process.memoryUsage.rss() > memoryMib * 2 ** 20) {
      reject(new Error(`more than ${memoryMib} MiB of memory at case ${now} of ${kind}`));
    }
  }, 200);
  worker.once('message', resolve).once('error', reject);
  try {
    return await promise;
  } finally {
    clearInterval(watch);
    await worker.terminate();
  }
}

function report(kind: Kind, counts: Counts, seconds: number): void {
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  process.stdout.write(`\n${kind}: ${total} cases in ${seconds.toFixed(0)} s\n`);
  for (const [outcome, count] of [...counts].sort(([, a], [, b]) => b - a)) {
    process.stdout.write(`${String(count).padStart(10)}  ${outcome}\n`);
  }
}

process.stdout.write(`seed: ${values.seed}\n`);
try {
  for (const kind of allKinds) {
    const start = performance.now();
    report(kind, await watched(kind), (performance.now() - start) / 1_000);
  }
  process.stdout.write(`\nno crash, no hang, no untyped error; peak memory ${peakMiB()} MiB\n`);
} catch (error) {
  process.stdout.write(`\nFAILED with seed ${values.seed}\n`);
  process.exitCode = 1;
  throw error;
}

function peakMiB(): number {
  return Math.round(process.resourceUsage().maxRSS / 1_024);
}
