import { setTimeout as pause } from 'node:timers/promises';

/** Time and chance, for whoever waits; a test gives its own. */
export interface Timing {
  now(): Date;
  /** @throws when the signal is given before */
  sleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void>;
  /** From 0 to less than 1. */
  random(): number;
}

export const systemTiming: Timing = {
  now: () => new Date(),
  sleep: (milliseconds, signal) => pause(milliseconds, undefined, signal === undefined ? {} : { signal }),
  random: Math.random,
};
