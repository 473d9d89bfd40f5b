import { describe, expect, test } from 'vitest';
import { ClientError, UnavailableError } from '../../../../lib/client/api/errors.ts';
import { backoffOf, retryAfterMs } from '../../../../lib/client/api/retry.ts';

const policy = { attempts: 4, firstMs: 100, longestMs: 300 };

function backoffWith(random: number, signal?: AbortSignal) {
  const pauses: number[] = [];
  const timing = {
    now: () => new Date(0),
    random: () => random,
    sleep: async (milliseconds: number, given: AbortSignal | undefined) => {
      given?.throwIfAborted();
      pauses.push(milliseconds);
    },
  };
  return { backoff: backoffOf(policy, timing, signal), pauses };
}

describe('a failed attempt', () => {
  test.each([
    [0, [50, 100, 150]],
    [0.5, [75, 150, 225]],
  ])('is followed by a pause twice as long, half of it by chance (%d)', async (random, expected) => {
    const { backoff, pauses } = backoffWith(random);
    const error = new UnavailableError('no');
    for (let attempt = 1; attempt < 4; attempt += 1) await backoff.failed(error);
    await expect(backoff.failed(error)).rejects.toBe(error);
    expect(pauses).toEqual(expected);
  });

  test('waits as long as it was asked to, and a little more', async () => {
    const { backoff, pauses } = backoffWith(0.5);
    await backoff.failed(new UnavailableError('no', { retryAfterMs: 5_000 }));
    expect(pauses).toEqual([5_025]);
  });

  test('counts from the beginning after something came', async () => {
    const { backoff, pauses } = backoffWith(0);
    for (let round = 0; round < 5; round += 1) {
      await backoff.failed(new UnavailableError('no'));
      backoff.progressed();
    }
    expect(pauses).toEqual([50, 50, 50, 50, 50]);
  });

  test.each([
    new UnavailableError('no', { retryable: false }),
    new ClientError('forbidden', 'no'),
    new TypeError('a mistake'),
  ])('that time does not heal is thrown at once: %s', async (error) => {
    const { backoff, pauses } = backoffWith(0);
    await expect(backoff.failed(error)).rejects.toBe(error);
    expect(pauses).toEqual([]);
  });

  test('after the user has stopped is "interrupted", whatever it was', async () => {
    const { backoff } = backoffWith(0, AbortSignal.abort());
    await expect(backoff.failed(new UnavailableError('no'))).rejects.toMatchObject({ code: 'interrupted' });
  });
});

// RFC 9110 § 10.2.3
test.each([
  ['120', 120_000],
  ['0', 0],
  ['soon', undefined],
  [undefined, undefined],
])('Retry-After %s is %s milliseconds', (value, expected) => {
  expect(retryAfterMs(value)).toBe(expected);
});
