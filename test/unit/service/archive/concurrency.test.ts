import { expect, test } from 'vitest';
import { unavailable } from '../../../../lib/errors.ts';
import { AdaptiveConcurrency, forEachConcurrently } from '../../../../lib/service/archive/concurrency.ts';

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index);

test('every item once, at most the limit at a time', async () => {
  const done: number[] = [];
  let running = 0;
  let most = 0;
  await forEachConcurrently(upTo(100), 32, async (item) => {
    running += 1;
    most = Math.max(most, running);
    await turn();
    running -= 1;
    done.push(item);
  });
  expect(done.sort((a, b) => a - b)).toEqual(upTo(100));
  expect(most).toBe(32);
});

test('a limit that sinks meanwhile holds from then on', async () => {
  let limit = 8;
  let running = 0;
  const seen: number[] = [];
  await forEachConcurrently(
    upTo(40),
    () => limit,
    async (item) => {
      running += 1;
      if (item >= 20) seen.push(running);
      if (item === 10) limit = 2;
      await turn();
      running -= 1;
    },
  );
  expect(Math.max(...seen)).toBe(2);
});

test('after the first failure nothing is started, and what runs is waited for', async () => {
  const started: number[] = [];
  let running = 0;
  const work = forEachConcurrently(upTo(20), 4, async (item) => {
    started.push(item);
    running += 1;
    for (let wait = 0; wait < (item === 1 ? 1 : 5); wait += 1) await turn();
    running -= 1;
    if (item === 1) throw new Error('first');
    if (item === 3) throw new Error('second');
  });
  await expect(work).rejects.toThrow('first');
  expect(running).toBe(0);
  expect(started).toEqual([0, 1, 2, 3]);
});

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
