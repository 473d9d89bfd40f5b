import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { notVerified } from '../helpers/client-process.ts';
import { namesIn } from '../helpers/client-world.ts';
import { InstalledClient } from '../helpers/installed-client.ts';
import { RangeServer, type ServedFile, servedBytes } from '../helpers/range-server.ts';
import { mountSmallDisk } from '../helpers/small-disk.ts';

/** Disks that refuse, names that clash, and terminals of every kind. */
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

test('a folder without the right to write is reported', async () => {
  const url = await serve(...Array.from({ length: 40 }, (_, index) => served(`${index}.c4gh`)));
  const folder = await client.folder();
  await chmod(folder, 0o555);
  // Root may write everywhere, so another user tries.
  const uid = process.getuid?.() === 0 ? 65_534 : undefined;
  for (const target of [folder, join(folder, 'new')]) {
    const run = await client.run(url, ['download', '--all', '-o', target], uid === undefined ? {} : { uid });
    expect(run.exitCode, run.stderr).toBe(6);
    expect(run.stderr).toMatch(/permission denied/);
    expect(run.stderr).toMatch(/Choose another file or folder/);
    // One message for each file that was begun, not for every file.
    expect(run.stderr.match(/permission denied/g)?.length).toBeLessThan(12);
  }
  expect(await namesIn(folder)).toEqual([]);
});

test('on a narrow terminal no line of the progress is broken', async ({ skip }) => {
  try {
    execFileSync('script', ['--version'], { stdio: 'pipe' });
  } catch {
    skip('needs script(1) to make a terminal');
  }
  const columns = 34;
  const names = ['EGAF00000000001-a-very-long-name-of-a-sample.bam.c4gh', 'EGAF00000000002-another-long-name.bam.c4gh'];
  // Two seconds, in which the progress is drawn several times.
  server = await RangeServer.start(
    names.map((name) => served(name, 10 * mebibyte)),
    { bitsPerSecond: 80e6 },
  );
  const folder = await client.folder();
  const within = ['sh', '-c', `exec script -qec "stty cols ${columns} rows 12; $*" /dev/null`, 'sh'];
  const argv = ['download', '--all', '-o', folder];
  const { exitCode, stdout } = await client.run(server.url, argv, { within, env: { TERM: 'xterm' } });
  expect(exitCode, stdout).toBe(notVerified);
  // Results are paths and may be longer. Only progress is drawn and removed again.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal receives
  const drawn = stdout.split(/\r?\n|\x1b\[[0-9;?]*[A-Za-z]/).filter((line) => /\d %/.test(line));
  expect(drawn.length).toBeGreaterThan(4);
  for (const line of drawn) expect(line.length, JSON.stringify(line)).toBeLessThan(columns);
});
