import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { FileLock, takeAway } from '../../../../../../lib/client/api/download/disk/lock.ts';

let folder = '';
let path = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-lock-'));
  path = join(folder, 'a.part.lock');
});
afterAll(() => rm(folder, { recursive: true }));

/** These tests do not wait for a lock that stays. */
const atOnce = async () => undefined;
const busy = { code: 'local_disk', message: expect.stringContaining('another process') };

test('is held by one at a time, and leaves nothing behind', async () => {
  const lock = await FileLock.acquire(path);
  await expect(FileLock.acquire(path, atOnce)).rejects.toMatchObject(busy);
  await lock.release();
  await (await FileLock.acquire(path)).release();
  expect(await readdir(folder)).toEqual([]);
});

test('of a living process is respected, of a killed one taken over', async () => {
  const module = new URL('../../../../../../lib/client/api/download/disk/lock.ts', import.meta.url).href;
  const script = `const { FileLock } = await import(${JSON.stringify(module)});
    await FileLock.acquire(${JSON.stringify(path)}); console.log('locked'); setTimeout(() => {}, 60_000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script]);
  await once(child.stdout, 'data');
  await expect(FileLock.acquire(path, atOnce)).rejects.toMatchObject(busy);
  child.kill('SIGKILL');
  await once(child, 'exit');
  await (await FileLock.acquire(path)).release();
  expect(await readdir(folder)).toEqual([]);
});

test('of a process whose number another one has now is taken over', async () => {
  const lock = await FileLock.acquire(path);
  const owner = JSON.parse(await readFile(path, 'utf8')) as object;
  await lock.release();
  // The parent of this process lives, but did not begin then.
  await writeFile(path, JSON.stringify({ ...owner, pid: process.ppid, began: '1' }));
  await (await FileLock.acquire(path)).release();
  // Nor does this process hold a lock with that token.
  await writeFile(path, JSON.stringify({ ...owner, token: 'of-a-run-before' }));
  await (await FileLock.acquire(path)).release();
});

test('of a process that was killed before it could write into it is soon taken over', async () => {
  await writeFile(path, '');
  await (await FileLock.acquire(path)).release();
  expect(await readdir(folder)).toEqual([]);
});

const elsewhere = JSON.stringify({ pid: 1, host: 'elsewhere', began: '', token: 'x' });

/** Sets the time of the lock, from the clock of the disk on. */
async function setTime(milliseconds: number, at = path): Promise<void> {
  const time = new Date((await stat(folder)).mtimeMs + milliseconds);
  await utimes(at, time, time);
}

test('of another machine counts as long as it is touched, by the clock of the disk', async () => {
  // The clock of this machine is two minutes ahead of, or behind, the one of the disk.
  for (const off of [-120_000, 120_000]) {
    await writeFile(path, elsewhere);
    vi.useFakeTimers({ now: Date.now() + off, toFake: ['Date'] });
    await expect(FileLock.acquire(path, atOnce)).rejects.toMatchObject(busy);
    await setTime(-89_000);
    await expect(FileLock.acquire(path, atOnce)).rejects.toMatchObject(busy);
    await setTime(-91_000);
    await (await FileLock.acquire(path)).release();
    vi.useRealTimers();
  }
  expect(await readdir(folder)).toEqual([]);
});

test('from the future is left over if nobody touches it, and held if somebody does', async () => {
  await writeFile(path, elsewhere);
  await setTime(3_600_000);
  let slept = 0;
  const touched = async (milliseconds: number) => {
    slept += milliseconds;
    if (slept === 15_000) await setTime(0);
  };
  await expect(FileLock.acquire(path, touched)).rejects.toMatchObject(busy);
  await setTime(3_600_000);
  await (await FileLock.acquire(path, atOnce)).release();
  expect(await readdir(folder)).toEqual([]);
});

test('is touched by the clock of the disk while it is held', async () => {
  vi.useFakeTimers({ now: Date.now() + 3_600_000, toFake: ['Date', 'setInterval', 'clearInterval'] });
  try {
    await using _lock = await FileLock.acquire(path);
    await setTime(-60_000);
    await vi.advanceTimersByTimeAsync(15_000);
    await vi.waitFor(async () => {
      const { mtimeMs } = await stat(path);
      expect(Math.abs(mtimeMs - performance.timeOrigin - performance.now())).toBeLessThan(10_000);
    });
  } finally {
    vi.useRealTimers();
  }
});

test('that is empty is being written; later it is left over', async () => {
  await writeFile(path, '');
  await expect(FileLock.acquire(path, atOnce)).rejects.toMatchObject(busy);
  await setTime(-20_000);
  await (await FileLock.acquire(path, atOnce)).release();
});

async function leaveOver(): Promise<void> {
  await writeFile(path, JSON.stringify({ pid: 2 ** 30, host: 'x', began: '', token: 'left over' }));
  await setTime(-120_000);
}

test('is not taken away when it is no longer the one that was looked at', async () => {
  const lock = await FileLock.acquire(path);
  expect(await takeAway(path, { content: 'of the one before' })).toBe(true);
  await expect(FileLock.acquire(path, atOnce)).rejects.toMatchObject(busy);
  await lock.release();
});

test('is taken over by one at a time, also after one that was killed while it did', async () => {
  await leaveOver();
  await writeFile(`${path}.turn`, '');
  await expect(FileLock.acquire(path, atOnce)).rejects.toMatchObject(busy);
  expect(await readFile(path, 'utf8')).toContain('left over');
  await setTime(-20_000, `${path}.turn`);
  await (await FileLock.acquire(path, atOnce)).release();
  expect(await readdir(folder)).toEqual([]);
});

test('is got by exactly one of many that find one left over', async () => {
  for (let round = 0; round < 10; round += 1) {
    await leaveOver();
    const tries = await Promise.allSettled(Array.from({ length: 8 }, () => FileLock.acquire(path, atOnce)));
    const held = tries.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    expect(held).toHaveLength(1);
    await held[0]?.release();
  }
  expect(await readdir(folder)).toEqual([]);
});
