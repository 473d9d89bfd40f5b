import { growingPause, type Timing } from '../../common/timing.ts';
import { interrupted, throwIfInterrupted, UnavailableError } from './errors.ts';

/** How often and how soon a failed attempt is repeated. */
export interface RetryPolicy {
  /** Failed attempts in a row after which the work is given up. */
  readonly attempts: number;
  readonly firstMs: number;
  readonly longestMs: number;
}

/** A network that is gone is given up after waits of 46 to 92 seconds in all. */
export const defaultRetryPolicy: RetryPolicy = { attempts: 10, firstMs: 250, longestMs: 30_000 };

/** Longest wait that a reply may ask for. */
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

  /** Some bytes came: the next failure counts as the first one again. */
  progressed(): void {
    this.#failures = 0;
  }

  /**
   * Waits until the next attempt: twice as long each time, and at least as long as the other side asked for. Half of the wait
   * is random, so that many clients do not come back at once.
   * @throws `error` if waiting cannot help or no attempt is left; ClientError `interrupted`
   */
  async failed(error: unknown): Promise<void> {
    throwIfInterrupted(this.#signal);
    if (!(error instanceof UnavailableError) || !error.retryable) throw error;
    const step = growingPause(this.#failures, this.#policy);
    this.#failures += 1;
    if (this.#failures >= this.#policy.attempts) throw error;
    const asked = Math.min(error.retryAfterMs ?? 0, longestRetryAfterMs);
    // Never below what was asked for.
    const delay = Math.max(step, asked) * (asked >= step ? 1 : 0.5) + step * 0.5 * this.#timing.random();
    await this.#timing.sleep(delay, this.#signal).catch((cause: unknown) => {
      throw interrupted(cause);
    });
  }
}

/** Milliseconds that a `Retry-After` header asks for in seconds, as this service and S3 do (RFC 9110 § 10.2.3). */
export function retryAfterMs(value = ''): number | undefined {
  return /^\d+$/.test(value.trim()) ? Number(value) * 1000 : undefined;
}
