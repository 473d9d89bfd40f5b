import type { Timing } from '../contract/timing.ts';
import { interrupted, throwIfInterrupted, UnavailableError } from './errors.ts';

/** How often and how soon something is tried again. */
export interface RetryPolicy {
  /** Attempts without any success between them, the first one included. */
  readonly attempts: number;
  readonly firstDelayMs: number;
  readonly longestDelayMs: number;
}

/** About two minutes of patience with a network that is gone. */
export const defaultRetryPolicy: RetryPolicy = { attempts: 10, firstDelayMs: 250, longestDelayMs: 30_000 };

/** Longest wait that a reply may ask for, in milliseconds. */
const longestRetryAfterMs = 300_000;

/** Counts the failures of one piece of work and waits between its attempts. */
export class Backoff {
  readonly #policy: RetryPolicy;
  readonly #timing: Timing;
  readonly #signal: AbortSignal | undefined;
  #failures = 0;

  constructor(policy: RetryPolicy, timing: Timing, signal: AbortSignal | undefined) {
    this.#policy = policy;
    this.#timing = timing;
    this.#signal = signal;
  }

  /** Something came: the next failure is a first one again. */
  progressed(): void {
    this.#failures = 0;
  }

  /**
   * Waits until the next attempt: twice as long each time, half of it by chance so that many do not come back at once,
   * and as long as the other side asked for.
   *
   * @throws `error` when it is none that time heals, or there is no attempt left; ClientError `interrupted`
   */
  async failed(error: unknown): Promise<void> {
    throwIfInterrupted(this.#signal);
    if (!(error instanceof UnavailableError) || !error.retryable) throw error;
    this.#failures += 1;
    const { attempts, firstDelayMs, longestDelayMs } = this.#policy;
    if (this.#failures >= attempts) throw error;
    const step = Math.min(longestDelayMs, firstDelayMs * 2 ** (this.#failures - 1));
    const asked = Math.min(error.retryAfterMs ?? 0, longestRetryAfterMs);
    // Above what was asked for, never below it.
    const delay = Math.max(step, asked) * (asked >= step ? 1 : 0.5) + step * 0.5 * this.#timing.random();
    try {
      await this.#timing.sleep(delay, this.#signal);
    } catch (cause) {
      throw interrupted(cause);
    }
  }
}

/** Milliseconds that a `Retry-After` header asks for: seconds or a date (RFC 9110 § 10.2.3). */
export function retryAfterMs(value: string | undefined, now: Date): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d+$/.test(value.trim())) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now.getTime());
}
