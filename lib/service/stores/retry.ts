import { growingPause } from '../../common/timing.ts';
import { unavailable } from '../../errors.ts';

/** Time and chance, injected; every member has a default of the real world. */
export interface RetryEnvironment {
  /** Milliseconds on any monotonic or wall clock. */
  readonly now?: () => number;
  readonly sleep?: (milliseconds: number) => Promise<void>;
  /** Uniform in [0, 1). */
  readonly random?: () => number;
}

export interface RetryOptions extends RetryEnvironment {
  /** Milliseconds that all attempts and pauses together may take. */
  readonly budgetMs: number;
  readonly isRetryable: (error: unknown) => boolean;
  /** Upper bound of the first pause, in milliseconds; it doubles up to `maxPauseMs`. @default 200 */
  readonly firstPauseMs?: number;
  /** @default 4000 */
  readonly maxPauseMs?: number;
  /** What is unavailable, for the error's text. */
  readonly what: string;
}

const realSleep = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

/**
 * Run `attempt` until it succeeds, fails for good, or the next pause would exceed the budget. Pauses have full jitter
 * (uniform between 0 and the bound), so that many functions that wait for one database do not come back at the same
 * moment. `attempt` receives the milliseconds that are left.
 *
 * @throws `temporarily_unavailable` when the budget is spent; the last failure is its cause
 */
export async function retrying<T>(attempt: (remainingMs: number) => Promise<T>, options: RetryOptions): Promise<T> {
  const { now = Date.now, sleep = realSleep, random = Math.random, firstPauseMs = 200, maxPauseMs = 4000 } = options;
  const deadline = now() + options.budgetMs;
  for (let failures = 0; ; failures += 1) {
    try {
      return await attempt(Math.max(deadline - now(), 0));
    } catch (error) {
      if (!options.isRetryable(error)) throw error;
      const pause = random() * growingPause(failures, { firstMs: firstPauseMs, longestMs: maxPauseMs });
      if (now() + pause >= deadline) {
        throw unavailable(`${options.what} is temporarily unavailable`, { cause: error });
      }
      await sleep(pause);
    }
  }
}
