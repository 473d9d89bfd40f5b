import type { FileHandle } from 'node:fs/promises';
import { SegmentWorkers } from '../../crypt4gh/index.ts';
import type { Progress } from '../../terminal/progress.ts';

/** Bytes. Smaller files are done before threads have started. */
const smallBytes = 8 * 1024 * 1024;
const pollMilliseconds = 200;

/**
 * Threads for the segments of an input; `undefined` for an input that is too small for them. They end when the user
 * interrupts.
 * @param size bytes of the input; `undefined` for a pipe
 */
export function threadsFor(size: number | undefined, signal: AbortSignal): SegmentWorkers | undefined {
  if (size !== undefined && size < smallBytes) return undefined;
  const workers = new SegmentWorkers();
  signal.addEventListener('abort', () => void workers.close(), { once: true });
  return workers;
}

/** Shows how a file grows while threads write it. @param total bytes that it will have, about */
export async function whileGrowing<T>(
  target: FileHandle,
  { progress, label, total }: { readonly progress: Progress; readonly label: string; readonly total: number },
  work: () => Promise<T>,
): Promise<T> {
  const task = progress.task(label, total);
  const show = async () => {
    const status = await target.stat().catch(() => undefined);
    if (status !== undefined) task.set(Math.min(status.size, total));
  };
  const timer = setInterval(() => void show(), pollMilliseconds);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    task.end();
  }
}
