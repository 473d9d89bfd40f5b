import type { Timing } from '../../common/timing.ts';
import { isError } from '../../errors.ts';

/** Calls in flight at first and at most. S3 works on each alone, so many at once make a large file quick. */
const mostInFlight = 32;
/** A refusal this soon after the last cut, in milliseconds, comes from calls that were in flight already. */
const oneEventMs = 1000;
const firstPauseMs = 500;
const longestPauseMs = 16_000;

/**
 * How many calls to S3 are in flight. `SlowDown` halves the number. It grows by one when as many calls as it says have
 * succeeded in a row.
 */
export class AdaptiveConcurrency {
  readonly #timing: Timing;
  #limit = mostInFlight;
  #successes = 0;
  #lastCut = Number.NEGATIVE_INFINITY;

  constructor(timing: Timing) {
    this.#timing = timing;
  }

  /** Calls that may be in flight now: 1–32. */
  get limit(): number {
    return this.#limit;
  }

  /**
   * Make the call, and again for as long as S3 asks to slow down. Other errors pass.
   *
   * @param beforeRetry called before each repetition. @throws to end them
   */
  async run<T>(call: () => Promise<T>, beforeRetry: () => void): Promise<T> {
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
      try {
        const value = await call();
        this.#succeeded();
        return value;
      } catch (error) {
        if (!(isError(error, 'temporarily_unavailable') && error.wantsFewerCalls)) throw error;
        this.#slowDown();
      }
      await this.#timing.sleep(pauseMs * (0.5 + this.#timing.random() / 2), undefined);
      beforeRetry();
    }
  }

  #succeeded(): void {
    this.#successes += 1;
    if (this.#successes < this.#limit) return;
    this.#successes = 0;
    this.#limit = Math.min(this.#limit + 1, mostInFlight);
  }

  #slowDown(): void {
    this.#successes = 0;
    const now = this.#timing.now().getTime();
    if (now - this.#lastCut < oneEventMs) return;
    this.#lastCut = now;
    this.#limit = Math.max(1, Math.floor(this.#limit / 2));
  }
}
