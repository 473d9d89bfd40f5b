import type { Method, ThrottleLimits } from './model.ts';

interface Bucket {
  tokens: number;
  /** Milliseconds since 1970. */
  filledAt: number;
}

/** The limits of a stage: a token bucket for each method, as API Gateway has it. */
export class Throttle {
  readonly #buckets = new Map<Method, Bucket>();
  readonly #now: () => Date;

  constructor(now: () => Date) {
    this.#now = now;
  }

  /** Whether a request of the method may continue. A refused request takes no token. */
  admits(method: Method): boolean {
    const limits: ThrottleLimits | undefined = method.throttling;
    if (!limits) return true;
    const now = this.#now().getTime();
    const bucket = this.#buckets.get(method) ?? { tokens: limits.burst, filledAt: now };
    const gained = ((now - bucket.filledAt) / 1000) * limits.requestsPerSecond;
    const tokens = Math.min(limits.burst, bucket.tokens + gained);
    const admits = tokens >= 1;
    this.#buckets.set(method, { tokens: admits ? tokens - 1 : tokens, filledAt: now });
    return admits;
  }
}
