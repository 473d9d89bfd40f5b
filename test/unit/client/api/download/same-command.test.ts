import { utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { DownloadWorld } from '../../../../helpers/download-world.ts';

/** The same command resumes after a run that was stopped: finished files do not stop it, also without receipts. */
let world: DownloadWorld;

beforeEach(async () => {
  world = await DownloadWorld.start();
  for (const name of ['one', 'two', 'three']) world.server.put(`${name}.c4gh`, Buffer.from(`content of ${name}`));
});
afterEach(() => world.stop());

test('it has the time of the remote file, by which it is recognized unread', async () => {
  await world.download();
  await writeFile(join(world.folder, 'two.c4gh'), 'CONTENT OF two');
  await utimes(join(world.folder, 'two.c4gh'), new Date(), new Date(1_700_000_000_000));
  world.faults.reset();
  const { files } = await world.download();
  expect(files.map(({ outcome }) => outcome)).toEqual(['skipped', 'skipped', 'skipped']);
  expect(world.storageBytes).toBe(0);
});

test('one of another time is not touched', async () => {
  await writeFile(join(world.folder, 'one.c4gh'), 'content of one');
  const { files, error } = await world.download();
  expect(files.map(({ outcome }) => outcome)).toEqual(['failed', 'downloaded', 'downloaded']);
  expect(error).toMatchObject({
    code: 'partial',
    message: expect.stringMatching(/exists already, and no delivery receipt/),
  });
  expect(await world.names()).toEqual(['one.c4gh', 'three.c4gh', 'two.c4gh']);
});
