import { setTimeout as pause } from 'node:timers/promises';

/** Clock and chance for all that waits; tests give their own. */
export interface Timing {
  now(): Date;
  /** @throws the reason of the signal, if it is aborted before */
  sleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void>;
  /** From 0 to less than 1. */
  random(): number;
}

export const systemTiming: Timing = {
  now: () => new Date(),
  async sleep(milliseconds, signal) {
    await pause(milliseconds, undefined, { signal }).catch((error: unknown) => {
      signal?.throwIfAborted();
      throw error;
    });
  },
  random: Math.random,
};
