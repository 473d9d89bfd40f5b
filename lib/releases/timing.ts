import { setTimeout as wait } from 'node:timers/promises';

/** The clock, so that tests need not wait. */
export interface Timing {
  now(): Date;
  /** @throws what the signal was aborted with */
  sleep(milliseconds: number, signal: AbortSignal): Promise<void>;
}

export const systemTiming: Timing = {
  now: () => new Date(),
  async sleep(milliseconds, signal) {
    await wait(milliseconds, undefined, { signal }).catch((error: unknown) => {
      signal.throwIfAborted();
      throw error;
    });
  },
};
