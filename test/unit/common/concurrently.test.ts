import { expect, test } from 'vitest';
import { forEachConcurrently } from '../../../lib/common/concurrently.ts';

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
