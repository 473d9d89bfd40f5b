import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type LocalPaths, localPaths } from '../../../../../../lib/client/api/download/disk/local-name.ts';
import { FileLock } from '../../../../../../lib/client/api/download/disk/lock.ts';
import { SmallFiles } from '../../../../../../lib/client/api/download/disk/small-files.ts';

let folder = '';
let paths: LocalPaths;
const files = new SmallFiles({ sync: true });
const bytes = Buffer.from('crypt4gh and more');
const modified = new Date('2026-01-02T03:04:05.000Z');
const write = () => files.write(paths, bytes, { mode: 0o600, modified });

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-small-'));
  paths = localPaths(folder, 'a.c4gh');
});
afterEach(() => rm(folder, { recursive: true }));

test.each([true, false])(
  'a file comes whole, with its time and mode, and nothing else stays (sync: %s)',
  async (sync) => {
    expect(await new SmallFiles({ sync }).write(paths, bytes, { mode: 0o600, modified })).toBe(true);
    expect(await readdir(folder)).toEqual(['a.c4gh']);
    expect(await readFile(paths.final, 'latin1')).toBe('crypt4gh and more');
    const { mtime, mode } = await stat(paths.final);
    expect(mtime).toEqual(modified);
    expect(mode & 0o777).toBe(0o600);
  },
);

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
    expect(await timed.write(next, bytes, { mode: 0o600, modified })).toBe(true);
  };
  for (let index = 0; index < 7; index += 1) await writeNext(index);
  step = 1;
  await writeNext(7);
  step = 3;
  for (let index = 8; index < 16; index += 1) await writeNext(index);
  expect(timed.suits(17, localPaths(folder, '16.c4gh'))).toBe(false);
});
