import { utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { DownloadWorld } from '../../../helpers/download-world.ts';

/** A run that was stopped is gone on with by the same command: what it has finished is no obstacle to the next. */
let world: DownloadWorld;

beforeEach(async () => {
  world = await DownloadWorld.start();
  for (const name of ['one', 'two', 'three']) world.server.put(`${name}.c4gh`, Buffer.from(`content of ${name}`));
});
afterEach(() => world.stop());

test('a file that a run before has downloaded is kept, without being asked for', async () => {
  const proxy = world.proxy();
  const {
    files: [first],
  } = await proxy.listPage({ page: 0, perPage: 1 });
  await world.download({ files: first ? [first] : [] });
  const { files, error } = await world.download();
  expect(error).toBeUndefined();
  expect(files.map(({ outcome }) => outcome)).toEqual(['skipped', 'downloaded', 'downloaded']);
  expect(world.server.count(/stream\/one/)).toBe(1);
});

test('it has the time of the remote file, which says what it is; any other is not touched', async () => {
  await world.download();
  await utimes(join(world.folder, 'two.c4gh'), new Date(), new Date(1_700_000_001_000));
  await writeFile(join(world.folder, 'three.c4gh'), 'content of three');
  const { files, error } = await world.download();
  expect(files.map(({ outcome }) => outcome)).toEqual(['skipped', 'failed', 'failed']);
  expect(error?.message).toMatch(/is there already/);
});

test('one of another size is not it, whatever its time', async () => {
  await world.download();
  world.server.put('one.c4gh', Buffer.from('content of one, exported anew'));
  const { files } = await world.download();
  expect(files.map(({ outcome }) => outcome)).toEqual(['failed', 'skipped', 'skipped']);
});

test('to overwrite means to fetch anew', async () => {
  await world.download();
  const { files } = await world.download({ existing: 'overwrite' });
  expect(files.map(({ outcome }) => outcome)).toEqual(['downloaded', 'downloaded', 'downloaded']);
});
