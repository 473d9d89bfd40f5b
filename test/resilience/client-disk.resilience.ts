import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { notVerified } from '../helpers/client-process.ts';
import { namesIn } from '../helpers/client-world.ts';
import { InstalledClient } from '../helpers/installed-client.ts';
import { RangeServer, type ServedFile, servedBytes } from '../helpers/range-server.ts';
import { mountSmallDisk } from '../helpers/small-disk.ts';

const mebibyte = 2 ** 20;
const repeat = randomBytes(4093).toString('base64');
const served = (name: string, size = 1000): ServedFile => ({ name, size, repeat });
let client: InstalledClient;
let server: RangeServer | undefined;

beforeAll(async () => {
  client = await InstalledClient.install();
});
afterEach(() => {
  server?.stop();
  server = undefined;
});
afterAll(() => client?.remove());

async function serve(...files: readonly ServedFile[]): Promise<string> {
  server = await RangeServer.start(files);
  return server.url;
}

async function expectWhole(folder: string, file: ServedFile, name = file.name): Promise<void> {
  expect((await readFile(join(folder, name))).equals(servedBytes(file, 0, file.size))).toBe(true);
}

test('a disk that fills up is reported, and when there is room again the same command continues', async ({ skip }) => {
  const disk = await client.folder();
  const mounted = mountSmallDisk(disk, '12m') ?? skip('needs the right to mount a small disk');
  try {
    // Each file alone has room when it begins. Together they do not.
    const files = ['one', 'two', 'three'].map((name) => served(`${name}.c4gh`, 5 * mebibyte));
    const url = await serve(...files);
    const argv = ['download', '--all', '-o', join(disk, 'data'), '--parallel', '3'];
    const full = await client.run(url, argv);
    expect([5, 6], full.stderr).toContain(full.exitCode);
    expect(full.stderr).toMatch(/the disk is full|has room for/);
    expect(full.stderr).toMatch(/Make room/);
    for (const name of await namesIn(join(disk, 'data'))) {
      const file = files.find((one) => one.name === name);
      if (file) await expectWhole(join(disk, 'data'), file);
    }
    mounted.resize('40m');
    const again = await client.run(url, argv);
    expect(again.exitCode, again.stderr).toBe(notVerified);
    expect(await namesIn(join(disk, 'data'))).toEqual(['one.c4gh', 'three.c4gh', 'two.c4gh']);
    for (const file of files) await expectWhole(join(disk, 'data'), file);
    // A file that can never have room is reported before anything is fetched.
    const huge = await client.run(await serve(served('huge.c4gh', 900 * mebibyte)), argv);
    expect(huge.exitCode).toBe(6);
    expect(huge.stderr).toMatch(/needs 900 MiB more, but the disk has room for \d+ MiB/);
  } finally {
    mounted.unmount();
  }
});
