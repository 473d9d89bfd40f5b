import { expect, test } from 'vitest';
import { Pace } from '../../../lib/archive/pace.ts';
import { SlowDownError, TemporarilyUnavailableError } from '../../../lib/errors.ts';

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
    if (left-- > 0) throw new SlowDownError('slow down');
    return 'fine';
  };
}

test('SlowDown halves the calls in flight, down to one, and the call is made again after longer and longer pauses', async () => {
  slept.length = 0;
  const pace = new Pace(timing);
  expect(pace.limit).toBe(32);
  ms += 10_000;
  expect(await pace.run(refused(1), goOn)).toBe('fine');
  expect(pace.limit).toBe(16);
  ms += 10_000;
  await pace.run(refused(8), goOn);
  expect(pace.limit).toBe(1 + 1);
  expect(slept).toEqual([500, 500, 1000, 2000, 4000, 8000, 16_000, 16_000, 16_000]);
});

test('refusals of calls that were in flight together count once', async () => {
  const pace = new Pace(timing);
  const still = new Pace({ ...timing, now: () => new Date(0), sleep: async () => {} });
  await Promise.all(Array.from({ length: 5 }, () => still.run(refused(1), goOn)));
  expect(still.limit).toBe(16);
  expect(pace.limit).toBe(32);
});

test('the number grows by one after as many successes, and never over 32', async () => {
  const pace = new Pace(timing);
  ms += 10_000;
  await pace.run(refused(1), goOn);
  for (let done = 1; done < 15; done += 1) await pace.run(fine, goOn);
  expect(pace.limit).toBe(16);
  await pace.run(fine, goOn);
  expect(pace.limit).toBe(17);
  for (let done = 0; done < 2000; done += 1) await pace.run(fine, goOn);
  expect(pace.limit).toBe(32);
});

test('the repetitions end when the caller says so, and other errors pass at once', async () => {
  const pace = new Pace(timing);
  const over = new Error('no time left');
  const stop = () => {
    throw over;
  };
  await expect(pace.run(refused(99), stop)).rejects.toBe(over);
  const down = new TemporarilyUnavailableError('down');
  await expect(pace.run(() => Promise.reject(down), goOn)).rejects.toBe(down);
});
