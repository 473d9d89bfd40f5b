import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { notVerified } from '../helpers/client-process.ts';
import { namesIn } from '../helpers/client-world.ts';
import { InstalledClient } from '../helpers/installed-client.ts';
import { peakOf } from '../helpers/peak-of.ts';
import { RangeServer, type ServedFile, servedBytes } from '../helpers/range-server.ts';

/** Many bytes and many files: the client as it is installed, against a server that makes bytes while it serves them. */
const mebibyte = 2 ** 20;
/** For any download. Node.js alone takes about 50 MiB, each decrypting thread about 20. */
const mostMemory = 300 * mebibyte;
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

/** Its period is that of no piece and no write, so bytes in a wrong place are other bytes. */
const repeat = randomBytes(mebibyte + 4093).toString('base64');

async function fetchMeasured(file: ServedFile, output: string, within: readonly string[] = []) {
  server = await RangeServer.start([file]);
  const { child, ended } = client.start(server.url, ['download', file.name, '-o', output], { within });
  const peak = peakOf(child, ended);
  const run = await ended;
  expect(run, run.stderr).toMatchObject({ exitCode: notVerified });
  server.stop();
  server = undefined;
  return (await peak) ?? 0;
}

/** Compares every byte of a file with the served one. */
async function expectServed(
  path: string,
  size: number,
  bytesOf: (start: number, end: number) => Buffer,
): Promise<void> {
  await using file = await open(path);
  expect((await file.stat()).size).toBe(size);
  const buffer = Buffer.alloc(16 * mebibyte);
  for (let at = 0; at < size; at += buffer.length) {
    const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, size - at), at);
    if (!buffer.subarray(0, bytesRead).equals(bytesOf(at, at + bytesRead))) throw new Error(`other bytes after ${at}`);
  }
}

test('a receipt of 200,000 files in two parts is verified with a heap of 600 MiB', async () => {
  const script = join(import.meta.dirname, '../helpers/verify-large-receipt.ts');
  const { stdout } = await promisify(execFile)(process.execPath, ['--max-old-space-size=600', script, '2']);
  const { bytes, files, peak } = JSON.parse(stdout);
  expect(files).toBe(200_000);
  expect(bytes).toBeGreaterThan(80 * mebibyte);
  // Each file takes some 450 bytes; the rest is the part that is being read.
  expect(peak).toBeLessThan(1000 * mebibyte);
});

test('a file of 2 GiB takes hardly more memory than one of 64 MiB', async () => {
  const folder = await client.folder();
  const peaks: number[] = [];
  for (const size of [64 * mebibyte, 2048 * mebibyte + 1]) {
    const file = { name: `large-${size}.c4gh`, size, repeat };
    peaks.push(await fetchMeasured(file, folder));
    await expectServed(join(folder, file.name), size, (start, end) => servedBytes(file, start, end));
    await rm(join(folder, file.name));
  }
  expect(Math.max(...peaks)).toBeLessThan(mostMemory);
}, 300_000);

test('nor does one that goes to a pipe', async () => {
  const within = ['bash', '-c', 'exec "$@" > >(cat > /dev/null)', 'bash'];
  const file = { name: 'piped.c4gh', size: 2 * mostMemory + 1, repeat };
  expect(await fetchMeasured(file, '-', within)).toBeLessThan(mostMemory);
}, 300_000);

test('1,000 small files come whole, each under its name', async () => {
  const files = Array.from({ length: 1000 }, (_, index): ServedFile => {
    const name = `EGAF${String(index).padStart(11, '0')}-sample.c4gh`;
    return { name, size: 500 + (index % 700), repeat: randomBytes(8).toString('base64') };
  });
  server = await RangeServer.start(files);
  const folder = await client.folder();
  const { child, ended } = client.start(server.url, ['download', '--all', '-o', folder]);
  const peak = peakOf(child, ended);
  const { exitCode, stdout, stderr } = await ended;
  expect(exitCode, stderr).toBe(notVerified);
  expect(stdout.trim().split('\n').length).toBe(files.length);
  expect(await namesIn(folder)).toEqual(files.map(({ name }) => name));
  for (const file of files) {
    expect((await readFile(join(folder, file.name))).equals(servedBytes(file, 0, file.size))).toBe(true);
  }
  expect(await peak).toBeLessThan(mostMemory);
  // Once more: nothing is fetched, and that is quick.
  const again = await client.run(server.url, ['download', '--all', '-o', folder]);
  expect(again.exitCode, again.stderr).toBe(notVerified);
  expect(again.stderr).toMatch(/1000 already present/);
}, 300_000);
