import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { FileLock } from '../../../../../../lib/client/api/download/disk/lock.ts';

let folder = '';
let path = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-lock-'));
  path = join(folder, 'a.part.lock');
});
afterAll(() => rm(folder, { recursive: true }));

/** These tests do not wait for a lock that stays. */
const atOnce = async () => undefined;
const acquired = () => FileLock.acquire(path, atOnce);
const busy = { code: 'local_disk', message: expect.stringContaining('another process') };
const elsewhere = JSON.stringify({ pid: 1, host: 'elsewhere', token: 'x' });

/** Takes the lock and gives it back. Nothing may be left then. */
async function expectFree(): Promise<void> {
  {
    await using _lock = await acquired();
    expect(await readdir(folder)).toEqual(['a.part.lock']);
  }
  expect(await readdir(folder)).toEqual([]);
}

/** Sets the time of the lock, from the clock of the disk on. */
async function setTime(milliseconds: number): Promise<void> {
  const time = new Date((await stat(folder)).mtimeMs + milliseconds);
  await utimes(path, time, time);
}

test('is held by one at a time, and leaves nothing behind', async () => {
  {
    await using _lock = await acquired();
    await expect(acquired()).rejects.toMatchObject(busy);
  }
  await expectFree();
});

test('of a living process is respected, of a killed one taken over', async () => {
  const module = new URL('../../../../../../lib/client/api/download/disk/lock.ts', import.meta.url).href;
  const script = `const { FileLock } = await import(${JSON.stringify(module)});
    await FileLock.acquire(${JSON.stringify(path)}); console.log('locked'); setTimeout(() => {}, 60_000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script]);
  await once(child.stdout, 'data');
  await expect(acquired()).rejects.toMatchObject(busy);
  child.kill('SIGKILL');
  await once(child, 'exit');
  await expectFree();
});

test('of an earlier process with the number of this one is taken over', async () => {
  const lock = await acquired();
  const owner = JSON.parse(await readFile(path, 'utf8')) as object;
  await lock[Symbol.asyncDispose]();
  await writeFile(path, JSON.stringify({ ...owner, token: 'of-a-run-before' }));
  await expectFree();
});

test('that its process was killed before it could write into is taken over after a second', async () => {
  await writeFile(path, '');
  const earlier = new Date(Date.now() - 1_500);
  await utimes(path, earlier, earlier);
  await expectFree();
});

test.each([
  ['of another machine', elsewhere],
  ['of a process of this machine that was suspended', 'this machine'],
])('%s is respected as long as it is touched, by the clock of the disk', async (_whose, written) => {
  await using own = await acquired();
  const owner = JSON.parse(await readFile(path, 'utf8')) as object;
  await own[Symbol.asyncDispose]();
  // The clock of this machine is two minutes ahead of, or behind, the one of the disk.
  for (const off of [-120_000, 120_000]) {
    await writeFile(path, written === 'this machine' ? JSON.stringify({ ...owner, pid: process.ppid }) : written);
    vi.useFakeTimers({ now: Date.now() + off, toFake: ['Date'] });
    await setTime(-89_000);
    await expect(acquired()).rejects.toMatchObject(busy);
    await setTime(-91_000);
    await expectFree();
    vi.useRealTimers();
  }
});

test('from the future is brought to the present, so that it ends', async () => {
  await writeFile(path, elsewhere);
  await setTime(3_600_000);
  await expect(acquired()).rejects.toMatchObject(busy);
  expect((await stat(path)).mtimeMs - (await stat(folder)).mtimeMs).toBeLessThan(1_000);
  await setTime(-91_000);
  await expectFree();
});

test('is touched by the clock of the disk while it is held', async () => {
  vi.useFakeTimers({ now: Date.now() + 3_600_000, toFake: ['Date', 'setInterval', 'clearInterval'] });
  try {
    await using _lock = await acquired();
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

test('is taken over also after a process that was killed while it did', async () => {
  await writeFile(path, elsewhere);
  await setTime(-91_000);
  await writeFile(`${path}.turn`, '');
  await expectFree();
});

test('is got by exactly one of many that find one left over', async () => {
  for (let round = 0; round < 10; round += 1) {
    await writeFile(path, elsewhere);
    await setTime(-91_000);
    const tries = await Promise.allSettled(Array.from({ length: 8 }, () => FileLock.acquire(path, () => stat(folder))));
    const held = tries.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    expect(held).toHaveLength(1);
    await held[0]?.[Symbol.asyncDispose]();
  }
  expect(await readdir(folder)).toEqual([]);
});
