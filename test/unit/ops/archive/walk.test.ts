import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { walkFolder } from '../../../../lib/ops/archive/walk.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'data-out-walk-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

test('regular files of all levels, ordered by code units; hidden names are counted', async () => {
  mkdirSync(join(folder, 'b/deep'), { recursive: true });
  mkdirSync(join(folder, '.git'));
  mkdirSync(join(folder, 'empty'));
  for (const path of ['b/deep/x', 'b/a', 'B', 'a', 'ä', '.hidden', 'b/.hidden', '.git/config']) {
    writeFileSync(join(folder, path), path);
  }
  expect(await walkFolder(folder, 'study')).toEqual({
    files: [
      { path: 'B', size: 1 },
      { path: 'a', size: 1 },
      { path: 'b/a', size: 3 },
      { path: 'b/deep/x', size: 8 },
      { path: 'ä', size: 2 },
    ],
    hidden: 3,
  });
});

test.each(['a file', 'nothing'])('a symbolic link to %s is refused', async (to) => {
  mkdirSync(join(folder, 'a'));
  writeFileSync(join(folder, 'a file'), 'x');
  symlinkSync(join(folder, to), join(folder, 'a/link'));
  await expect(walkFolder(folder, 'study')).rejects.toThrow('study/a/link is a symbolic link; nothing was added');
});

test('a socket is refused', async () => {
  const server = createServer().listen(join(folder, 'socket'));
  await new Promise((resolve) => server.once('listening', resolve));
  await expect(walkFolder(folder, 'study')).rejects.toThrow('study/socket is a device, a pipe or a socket');
  await new Promise((resolve) => server.close(resolve));
});
