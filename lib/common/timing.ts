import { setTimeout as pause } from 'node:timers/promises';

/** Time and chance for code that waits; tests give their own. */
export interface Timing {
  now(): Date;
  /** @throws the reason of the signal, as soon as it is given */
  sleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void>;
  /** From 0 to less than 1. */
  random(): number;
}

export const systemTiming: Timing = {
  now: () => new Date(),
  async sleep(milliseconds, signal) {
    await pause(milliseconds, undefined, signal && { signal }).catch((error: unknown) => {
      signal?.throwIfAborted();
      throw error;
    });
  },
  random: Math.random,
};

/** Milliseconds to wait after so many failures, counted from 0: `factor` times as long each time. Default factor: 2. */
export function growingPause(
  failures: number,
  {
    firstMs,
    longestMs,
    factor = 2,
  }: { readonly firstMs: number; readonly longestMs: number; readonly factor?: number },
): number {
  return Math.min(longestMs, firstMs * factor ** failures);
}
