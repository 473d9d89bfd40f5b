import { existsSync, readFileSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import { SegmentWorkers } from '../../../crypt4gh/index.ts';
import type { Progress } from '../../../terminal/progress.ts';

/** Bytes. Smaller files are finished before threads have started. */
const smallBytes = 8 * 1024 * 1024;
const pollMilliseconds = 100;
/** Of this process, on Linux: proc(5). */
const limits = '/proc/self/limits';

/**
 * Threads for the segments of an input; `undefined` for an input that is too small, and where they would have no processor or
 * no memory: the programs at the ends of a pipe need some as well. They end when the user interrupts.
 * @param size bytes of the input; `undefined` if it is not a regular file
 */
export function threadsFor(size: number | undefined, signal: AbortSignal, isPipe = false): SegmentWorkers | undefined {
  if (availableParallelism() <= (isPipe ? 2 : 1) || (size !== undefined && size < smallBytes)) return undefined;
  // Each thread reserves gigabytes of addresses, and the process ends where it gets none.
  if (existsSync(limits) && /^Max address space +\d/m.test(readFileSync(limits, 'latin1'))) return undefined;
  const workers = new SegmentWorkers();
  signal.addEventListener('abort', () => void workers.close(), { once: true });
  return workers;
}

/**
 * Shows how a file grows while threads write it, and syncs it meanwhile: a sync at the end would leave the processor idle.
 * @param total bytes that it will have, about
 */
export async function whileGrowing<T>(
  target: FileHandle,
  { progress, label, total }: { readonly progress: Progress; readonly label: string; readonly total: number },
  work: () => Promise<T>,
): Promise<T> {
  const task = progress.task(label, total);
  const ended = new AbortController();
  const { signal } = ended;
  const watch = async () => {
    for (;;) {
      await setTimeout(pollMilliseconds, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      task.set(Math.min((await target.stat()).size, total));
      await target.datasync();
    }
  };
  // The system reports a failed write once only, so an error of this sync counts.
  const [watched, worked] = await Promise.allSettled([watch(), work().finally(() => ended.abort())]);
  task.end();
  if (worked.status === 'rejected') throw worked.reason;
  if (watched.status === 'rejected') throw watched.reason;
  return worked.value;
}
