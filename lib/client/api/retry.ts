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

/** Longest wait that a reply can ask for. */
const longestMs = 300_000;

/** Counts the failures of one piece of work and waits between its attempts. */
export function backoffOf(policy: RetryPolicy, timing: Timing, signal: AbortSignal | undefined) {
  let failures = 0;
  return {
    /** Some bytes came: the next failure counts as the first one again. */
    progressed(): void {
      failures = 0;
    },

    /**
     * Waits until the next attempt: twice as long each time, and at least as long as the other side asked for. Half of the wait
     * is random, so that many clients do not come back at once.
     * @throws `error` if waiting cannot help or no attempt is left; ClientError `interrupted`
     */
    async failed(error: unknown): Promise<void> {
      throwIfInterrupted(signal);
      if (!(error instanceof UnavailableError) || !error.retryable) throw error;
      const step = growingPause(failures, policy);
      failures += 1;
      if (failures >= policy.attempts) throw error;
      const asked = Math.min(error.retryAfterMs ?? 0, longestMs);
      // Never below what was asked for.
      const delay = Math.max(step, asked) * (asked >= step ? 1 : 0.5) + step * 0.5 * timing.random();
      await timing.sleep(delay, signal).catch((cause: unknown) => {
        throw interrupted(cause);
      });
    },
  };
}

/** Milliseconds that a `Retry-After` header asks for in seconds, as this service and S3 do (RFC 9110 § 10.2.3). */
export function retryAfterMs(value = ''): number | undefined {
  return /^\d+$/.test(value.trim()) ? Number(value) * 1000 : undefined;
}
