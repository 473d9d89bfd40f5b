import { expect, test } from 'vitest';
import { unavailable } from '../../../../lib/errors.ts';
import { AdaptiveConcurrency } from '../../../../lib/service/containers/adaptive-concurrency.ts';

let ms = 0;
const slept: number[] = [];
const timing = {
  now: () => new Date(ms),
  sleep: async (duration: number) => {
    slept.push(duration);
    ms += duration;
  },
  random: () => 1,
};
const fine = async () => 'fine';
const goOn = () => {};

/** A call that S3 refuses `times` times. */
function refused(times: number): () => Promise<string> {
  let left = times;
  return async () => {
    if (left-- > 0) throw unavailable('slow down', { wantsFewerCalls: true });
    return 'fine';
  };
}

test('SlowDown halves the calls in flight, down to one, and the call is made again after longer and longer pauses', async () => {
  slept.length = 0;
  const concurrency = new AdaptiveConcurrency(timing);
  expect(concurrency.limit).toBe(32);
  ms += 10_000;
  expect(await concurrency.run(refused(1), goOn)).toBe('fine');
  expect(concurrency.limit).toBe(16);
  ms += 10_000;
  await concurrency.run(refused(8), goOn);
  expect(concurrency.limit).toBe(1 + 1);
  expect(slept).toEqual([500, 500, 1000, 2000, 4000, 8000, 16_000, 16_000, 16_000]);
});

test('refusals of calls that were in flight together count once', async () => {
  const concurrency = new AdaptiveConcurrency(timing);
  const still = new AdaptiveConcurrency({ ...timing, now: () => new Date(0), sleep: async () => {} });
  await Promise.all(Array.from({ length: 5 }, () => still.run(refused(1), goOn)));
  expect(still.limit).toBe(16);
  expect(concurrency.limit).toBe(32);
});

test('the number grows by one after as many successes, and never over 32', async () => {
  const concurrency = new AdaptiveConcurrency(timing);
  ms += 10_000;
  await concurrency.run(refused(1), goOn);
  for (let done = 1; done < 15; done += 1) await concurrency.run(fine, goOn);
  expect(concurrency.limit).toBe(16);
  await concurrency.run(fine, goOn);
  expect(concurrency.limit).toBe(17);
  for (let done = 0; done < 2000; done += 1) await concurrency.run(fine, goOn);
  expect(concurrency.limit).toBe(32);
});

test('the repetitions end when the caller says so, and other errors pass at once', async () => {
  const concurrency = new AdaptiveConcurrency(timing);
  const over = new Error('no time left');
  const stop = () => {
    throw over;
  };
  await expect(concurrency.run(refused(99), stop)).rejects.toBe(over);
  const down = unavailable('down');
  await expect(concurrency.run(() => Promise.reject(down), goOn)).rejects.toBe(down);
});
