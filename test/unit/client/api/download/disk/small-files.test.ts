import { fstatSync, statSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type LocalPaths, localPaths } from '../../../../../../lib/client/api/download/disk/local-name.ts';
import { FileLock } from '../../../../../../lib/client/api/download/disk/lock.ts';
import { SmallFiles } from '../../../../../../lib/client/api/download/disk/small-files.ts';

let folder = '';
let paths: LocalPaths;
const files = new SmallFiles({ sync: true });
const bytes = Buffer.from('crypt4gh and more');
const modified = new Date('2026-01-02T03:04:05.000Z');
const write = () => files.write(paths, bytes, modified);

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-small-'));
  paths = localPaths(folder, 'a.c4gh');
});
afterEach(async () => {
  vi.useRealTimers();
  await rm(folder, { recursive: true });
});

test.each([true, false])('a file comes whole, with its time, and nothing else stays (sync: %s)', async (sync) => {
  const one = new SmallFiles({ sync });
  expect(await one.write(paths, bytes, modified)).toBe(true);
  one.flush();
  expect(await readdir(folder)).toEqual(['a.c4gh']);
  expect(await readFile(paths.final, 'latin1')).toBe('crypt4gh and more');
  const { mtime } = await stat(paths.final);
  expect(mtime).toEqual(modified);
});

test('suits files of 1 B to 1 MiB', () => {
  const sizes = [0, 1, 1_048_576, 1_048_577];
  expect(sizes.filter((size) => files.suits(size, paths))).toEqual([1, 1_048_576]);
});

test.each(['final', 'part', 'journal', 'lock'] as const)('does not suit a file whose %s exists', async (which) => {
  await writeFile(paths[which], '');
  expect(files.suits(5, paths)).toBe(false);
});

test('a link that leads nowhere counts as a file', async () => {
  await symlink(join(folder, 'nowhere'), paths.part);
  expect(files.suits(5, paths)).toBe(false);
  expect(await write()).toBe(false);
  expect(await readdir(folder)).toEqual(['a.c4gh.part']);
});

test('leaves a file alone that another process works on', async () => {
  await using _lock = await FileLock.acquire(paths.lock);
  expect(await write()).toBe(false);
  expect(await readdir(folder)).toEqual(['a.c4gh.part.lock']);
});

test.each(['final', 'part'] as const)('does not replace a %s that was made meanwhile', async (which) => {
  await writeFile(paths[which], 'mine');
  expect(await write()).toBe(false);
  expect(await readFile(paths[which], 'latin1')).toBe('mine');
  expect(await readdir(folder)).toHaveLength(1);
});

test('a folder that is gone is reported as for a large file', async () => {
  paths = localPaths(join(folder, 'gone'), 'a.c4gh');
  await expect(write()).rejects.toMatchObject({ code: 'local_disk', folderWide: true });
});

test('after eight slow files in a row, and only then, a disk suits no more', async () => {
  let milliseconds = 0;
  let step = 3;
  const timed = new SmallFiles({
    sync: false,
    stopwatch: () => {
      milliseconds += step;
      return milliseconds;
    },
  });
  const writeNext = async (index: number) => {
    const next = localPaths(folder, `${index}.c4gh`);
    expect(timed.suits(17, next)).toBe(true);
    expect(await timed.write(next, bytes, modified)).toBe(true);
  };
  for (let index = 0; index < 7; index += 1) await writeNext(index);
  step = 1;
  await writeNext(7);
  step = 3;
  for (let index = 8; index < 16; index += 1) await writeNext(index);
  expect(timed.suits(17, localPaths(folder, '16.c4gh'))).toBe(false);
  timed.flush();
});

const named = (index: number) => localPaths(folder, `${index}.c4gh`);

test('the locks of a run are one file, of which one name at a time stays', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const many = new SmallFiles({ sync: false });
  await many.write(named(0), bytes, modified);
  const { ino } = await stat(named(0).lock);
  for (let index = 1; index < 20; index += 1) await many.write(named(index), bytes, modified);
  expect((await readdir(folder)).filter((name) => !/^\d+\.c4gh$/.test(name))).toEqual(['19.c4gh.part.lock']);
  expect(await stat(named(19).lock)).toMatchObject({ ino, nlink: 1 });
  await expect(FileLock.acquire(named(19).lock, async () => undefined)).rejects.toThrow('another process');
  // Also without a next file and without a call, the lock does not stay.
  vi.advanceTimersByTime(100);
  expect(await readdir(folder)).toHaveLength(20);
});

test('files that wait for the disk have no name yet, and get it together', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const many = new SmallFiles({ sync: true });
  const writing = writeMany(many, 5);
  expect(writing.written()).toBe(5);
  expect((await readdir(folder)).filter((name) => name.endsWith('.c4gh'))).toEqual([]);
  many.flush();
  expect(await Promise.all(writing.results)).toEqual(Array(5).fill(true));
  many.flush();
  expect(await readdir(folder)).toEqual(['0.c4gh', '1.c4gh', '2.c4gh', '3.c4gh', '4.c4gh']);
});

test('no file of a group gets its name before it is on the disk, and a disk that fails for one keeps that one back', async () => {
  const synced: number[] = [];
  const many = new SmallFiles({
    sync: async (file) => {
      const { ino } = fstatSync(file);
      const parts = Array.from(
        { length: 5 },
        (_, index) => statSync(named(index).part, { throwIfNoEntry: false })?.ino,
      );
      const index = parts.indexOf(ino);
      await pause(5);
      expect(await readdir(folder)).not.toContain(`${index}.c4gh`);
      synced.push(index);
      if (index === 3) throw Object.assign(new Error('EIO'), { code: 'EIO', errno: -5, syscall: 'fdatasync' });
    },
  });
  const { results } = writeMany(many, 5);
  many.flush();
  const outcomes = await Promise.allSettled(results);
  many.flush();
  expect(outcomes.map(({ status }) => status)).toEqual([
    'fulfilled',
    'fulfilled',
    'fulfilled',
    'rejected',
    'fulfilled',
  ]);
  expect(outcomes[3]).toMatchObject({ reason: { code: 'local_disk', message: expect.stringContaining('3.c4gh') } });
  expect(synced.sort()).toEqual([0, 1, 2, 3, 4]);
  expect(await readdir(folder)).toEqual(['0.c4gh', '1.c4gh', '2.c4gh', '4.c4gh']);
});

test.each([
  ['128 files', bytes, 128],
  ['32 MiB', Buffer.alloc(1_048_576), 32],
])('no more than %s wait for a disk that is slower than the network', async (_, content, most) => {
  const many = new SmallFiles({ sync: true });
  const { written, results } = writeMany(many, most + 40, content);
  expect(written()).toBe(most);
  // A group is full, or its time is over: they need no call.
  expect(await Promise.all(results)).toEqual(Array(most + 40).fill(true));
  many.flush();
  expect(await readdir(folder)).toHaveLength(most + 40);
});

/** @returns how many have called `written` */
function writeMany(many: SmallFiles, amount: number, content: Uint8Array = bytes) {
  let waiting = 0;
  const written = () => {
    waiting += 1;
  };
  const one = (_: unknown, index: number) => many.write(named(index), content, modified, written);
  return { results: Array.from({ length: amount }, one), written: () => waiting };
}
