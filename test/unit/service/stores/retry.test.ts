import { describe, expect, it } from 'vitest';
import { type RetryOptions, retrying } from '../../../../lib/service/stores/retry.ts';

/** A clock that moves only while something sleeps. */
function simulated(random: number, budgetMs: number) {
  let now = 1000;
  const pauses: number[] = [];
  const options: RetryOptions = {
    budgetMs,
    isRetryable: (error) => error instanceof Error && error.message === 'busy',
    what: 'the thing',
    now: () => now,
    sleep: async (milliseconds) => {
      pauses.push(milliseconds);
      now += milliseconds;
    },
    random: () => random,
  };
  return { options, pauses };
}

const failing = (times: number, error = new Error('busy')) => {
  let calls = 0;
  return async () => {
    calls += 1;
    if (calls <= times) throw error;
    return calls;
  };
};

describe('retrying', () => {
  it('doubles the bound of the pause up to its maximum', async () => {
    const { options, pauses } = simulated(1, 60_000);
    expect(await retrying(failing(7), options)).toBe(8);
    expect(pauses).toEqual([200, 400, 800, 1600, 3200, 4000, 4000]);
  });

  it('tells every attempt what is left of the budget', async () => {
    const { options } = simulated(0.5, 10_000);
    const left: number[] = [];
    await retrying(async (remaining) => {
      left.push(remaining);
      if (left.length < 3) throw new Error('busy');
    }, options);
    expect(left).toEqual([10_000, 9900, 9700]);
  });

  it('does not repeat what will not pass', async () => {
    const { options, pauses } = simulated(0.5, 60_000);
    await expect(retrying(failing(1, new Error('denied')), options)).rejects.toThrow('denied');
    expect(pauses).toEqual([]);
  });

  it('stops before a pause that would exceed the budget, and keeps the cause', async () => {
    const { options, pauses } = simulated(1, 1000);
    const error = new Error('busy');
    const failure = retrying(failing(99, error), options);
    await expect(failure).rejects.toThrow(expect.objectContaining({ code: 'temporarily_unavailable' }));
    await expect(failure).rejects.toMatchObject({ retryAfterSeconds: 15, cause: error });
    // 200 + 400 fit into a second, another 800 do not.
    expect(pauses).toEqual([200, 400]);
  });
});
