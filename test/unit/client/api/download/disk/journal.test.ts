import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  partDone,
  readJournal,
  removeJournal,
  writeJournal,
} from '../../../../../../lib/client/api/download/disk/journal.ts';

let folder = '';
let path = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-out-journal-'));
  path = join(folder, 'a.part.json');
});
afterAll(() => rm(folder, { recursive: true }));

const journal = {
  name: 'a.c4gh',
  version: { size: 100, etag: '"tag"', lastModified: undefined },
  done: [
    { start: 0, end: 10 },
    { start: 20, end: 100 },
  ],
  synced: [{ start: 0, end: 10 }],
  boot: 'since-monday',
} as const;

test('is not written through a link in its place', async () => {
  const mine = join(folder, 'mine.txt');
  await writeFile(mine, 'mine');
  await symlink(mine, `${path}.new`);
  await writeJournal(path, journal, { sync: false });
  expect(await readFile(mine, 'utf8')).toBe('mine');
  expect(await readJournal(path)).toEqual(journal);
  await Promise.all([rm(mine), rm(path)]);
});

test('is read as it was written, and leaves nothing behind', async () => {
  expect(await readJournal(path)).toBe('absent');
  await writeJournal(path, journal, { sync: true });
  expect(await readdir(folder)).toEqual(['a.part.json']);
  expect(await readJournal(path)).toEqual(journal);
  expect(JSON.parse(await readFile(path, 'utf8'))).toEqual({
    format: 1,
    name: 'a.c4gh',
    size: 100,
    etag: '"tag"',
    boot: 'since-monday',
    synced: [[0, 10]],
    done: [
      [0, 10],
      [20, 100],
    ],
  });
  await removeJournal(path);
  expect(await readdir(folder)).toEqual([]);
});

test.each([
  '',
  '{',
  'null',
  '[]',
  '{}',
  '{"format":2,"name":"a","size":9,"etag":"\\"x\\"","done":[],"synced":[]}',
  '{"format":1,"name":"a","size":-1,"done":[],"synced":[]}',
  '{"format":1,"name":"a","size":9,"etag":5,"done":[],"synced":[]}',
  '{"format":1,"name":"a","size":9,"synced":[],"done":[[0,10]]}',
  '{"format":1,"name":"a","size":9,"synced":[],"done":[[5,5]]}',
  '{"format":1,"name":"a","size":9,"synced":[],"done":[[5,4]]}',
  '{"format":1,"name":"a","size":9,"synced":[],"done":[[0.5,4]]}',
  '{"format":1,"name":"a","size":9,"synced":[],"done":[[0,4,9]]}',
  '{"format":1,"name":"a","size":9,"synced":[],"done":"all"}',
  '{"format":1,"name":"a","size":9,"done":[]}',
  '{"format":1,"name":"a","size":9,"boot":7,"synced":[],"done":[]}',
])('does not trust %s', async (text) => {
  await writeFile(path, text);
  expect(await readJournal(path)).toBe('unusable');
});

test('relies on bytes that were not synced only until the next boot', () => {
  expect(partDone(journal, 'since-monday')).toEqual(journal.done);
  expect(partDone(journal, 'since-tuesday')).toEqual(journal.synced);
  expect(partDone({ ...journal, boot: undefined }, undefined)).toEqual(journal.synced);
});
