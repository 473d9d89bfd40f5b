import { execFileSync } from 'node:child_process';
import { rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DownloadWorld } from '../../../../helpers/download-world.ts';

/** The same command resumes after a run that was stopped: files that are finished do not stop it. */
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
  } = await proxy.listPage({ perPage: 1 });
  await world.download({ files: first ? [first] : [] });
  const { files, error } = await world.download();
  expect(error).toBeUndefined();
  expect(files.map(({ outcome }) => outcome)).toEqual(['skipped', 'downloaded', 'downloaded']);
  expect(world.server.count(/stream\/one/)).toBe(1);
});

test('it has the time of the remote file, by which it is recognized unread', async () => {
  await world.download();
  await writeFile(join(world.folder, 'two.c4gh'), 'CONTENT OF two');
  await utimes(join(world.folder, 'two.c4gh'), new Date(), new Date(1_700_000_000_000));
  world.faults.reset();
  const { files } = await world.download();
  expect(files.map(({ outcome }) => outcome)).toEqual(['skipped', 'skipped', 'skipped']);
  expect(world.storageBytes).toBe(0);
});

test('one of another time is compared: the same bytes are kept, any other is not touched', async () => {
  await writeFile(join(world.folder, 'one.c4gh'), 'content of one');
  await writeFile(join(world.folder, 'two.c4gh'), 'Content of two');
  await writeFile(join(world.folder, 'three.c4gh'), 'content of threE');
  const { files, error } = await world.download();
  expect(files.map(({ outcome }) => outcome)).toEqual(['skipped', 'failed', 'failed']);
  expect(error).toMatchObject({
    code: 'partial',
    message: expect.stringMatching(/exists already, with other content/),
  });
  expect(`${await world.read('two.c4gh')}, ${await world.read('three.c4gh')}`).toBe('Content of two, content of threE');
  expect(await world.names()).toEqual(['one.c4gh', 'three.c4gh', 'two.c4gh']);
});

describe('a repeated export of the same bytes', () => {
  const large = Buffer.from(Array.from({ length: 9_000_000 }, (_, index) => (index * 7) % 251));

  test.each(['without a trace', 'through broken connections'])('leaves everything as it is: %s', async (how) => {
    world.server.put('one.c4gh', large);
    await world.download();
    for (const name of ['one', 'two', 'three']) world.server.restage(`${name}.c4gh`);
    world.events.length = 0;
    world.faults.reset();
    if (how !== 'without a trace')
      world.faults.break({ on: 'storage', fault: { kind: 'cut', bytes: 100_000 }, times: 3 });
    const { files, error } = await world.download();
    expect(error).toBeUndefined();
    expect(files.map(({ outcome }) => outcome)).toEqual(['skipped', 'skipped', 'skipped']);
    expect(world.events.filter(({ type }) => type === 'comparing')).toHaveLength(3);
    expect(await world.names()).toEqual(['one.c4gh', 'three.c4gh', 'two.c4gh']);
    // From then on the time tells it.
    world.faults.reset();
    expect((await world.download()).files.map(({ outcome }) => outcome)).toEqual(['skipped', 'skipped', 'skipped']);
    expect(world.storageBytes).toBe(0);
  });

  test('finds the one byte in which a copy differs', async () => {
    world.server.put('one.c4gh', large);
    await world.download();
    world.server.restage('one.c4gh');
    const copy = Buffer.from(large);
    copy[copy.length - 1]! ^= 1;
    await writeFile(join(world.folder, 'one.c4gh'), copy);
    const { files } = await world.download();
    expect(files[0]).toMatchObject({ outcome: 'failed', error: { code: 'local_disk' } });
    expect((await world.read('one.c4gh')).equals(copy)).toBe(true);
  });

  test('does not follow a link, and waits for no pipe', async () => {
    await world.download();
    for (const name of ['one', 'two', 'three']) world.server.restage(`${name}.c4gh`);
    await rm(join(world.folder, 'one.c4gh'));
    await symlink('two.c4gh', join(world.folder, 'one.c4gh'));
    await rm(join(world.folder, 'three.c4gh'));
    execFileSync('mkfifo', [join(world.folder, 'three.c4gh')]);
    const { files } = await world.download();
    expect(files.map(({ outcome }) => outcome)).toEqual(['failed', 'skipped', 'failed']);
  });
});

test('one of another size is not it, whatever its time', async () => {
  await world.download();
  world.server.put('one.c4gh', Buffer.from('content of one, exported again'));
  const { files } = await world.download();
  expect(files.map(({ outcome }) => outcome)).toEqual(['failed', 'skipped', 'skipped']);
});
