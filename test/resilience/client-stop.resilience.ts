import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { namesIn } from '../helpers/client-world.ts';
import { bytesPassed, inLanes, journalled, killAfter, LargeDownload, name } from '../helpers/large-download.ts';

/** The client is stopped while bytes come, by a kill or by its user, and run again by the same command. */
let download: LargeDownload;

beforeAll(async () => {
  download = await LargeDownload.start(65 * 2 ** 20 + 12_345);
});
afterAll(() => download?.world.stop());

test('killed when so many bytes have come', async () => {
  const { world, container: bytes } = download;
  const shares = Array.from({ length: 6 }, (_, index) => (index + 0.5) / 6);
  await inLanes(2, shares, async (share) => {
    const folder = await world.folder();
    const faults = await world.faults();
    const argv = download.command(folder);
    const run = world.start(argv, { url: faults.url });
    killAfter(faults, share * bytes.length, () => run.child.kill('SIGKILL'));
    expect(await run.ended).toMatchObject({ signal: 'SIGKILL' });
    expect(await download.expectNothingHalf(folder)).toBe(false);
    await download.expectWholeNow(folder);
    await faults.stop();
  });
});

test('Ctrl-C keeps the bytes that came and says how to continue', async () => {
  const { world, container } = download;
  const folder = await world.folder();
  const faults = await world.faults();
  const argv = download.command(folder);
  const size = container.length;
  const run = world.start(argv, { url: faults.url });
  killAfter(faults, size / 2, () => run.child.kill('SIGINT'), 10);
  const { exitCode, stdout, stderr } = await run.ended;
  expect(exitCode).toBe(130);
  expect(stderr).toMatch(/same command/);
  expect(await download.expectNothingHalf(folder)).toBe(false);
  expect(await namesIn(folder)).toEqual([`${name}.part`, `${name}.part.json`]);
  // The files that stay hold no address and no credential.
  const journal = await readFile(join(folder, `${name}.part.json`), 'utf8');
  for (const secret of [world.visa, world.service.connection.archiveUser.password, 'X-Amz']) {
    expect(journal + stdout + stderr).not.toContain(secret);
  }
  expect(journal).not.toContain('http');
  const kept = await journalled(folder);
  expect(kept).toBeGreaterThanOrEqual(8 * 2 ** 20);
  const before = bytesPassed(faults);
  await download.expectWholeNow(folder, faults.url);
  expect(bytesPassed(faults) - before).toBeLessThanOrEqual(size - kept);
  await faults.stop();
});
