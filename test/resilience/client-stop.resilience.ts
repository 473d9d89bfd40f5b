import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { namesIn } from '../helpers/client-world.ts';
import { killSwitch } from '../helpers/kill-switch.ts';
import { bytesPassed, forms, inLanes, journalled, killAfter, LargeDownload } from '../helpers/large-download.ts';

/** The client is stopped while bytes come, by a kill or by its user, and run again by the same command. */
let download: LargeDownload;

beforeAll(async () => {
  download = await LargeDownload.start(17 * 2 ** 20 + 12_345);
});
afterAll(() => download?.world.stop());

test.for(forms)('killed when so many bytes have come: $form', async ({ form, name, options }) => {
  const { world } = download;
  const bytes = download.expected[form];
  const shares = Array.from({ length: 6 }, (_, index) => (index + 0.5) / 6);
  await inLanes(2, shares, async (share) => {
    const folder = await world.folder();
    const faults = await world.faults();
    const argv = download.command(folder, options);
    const run = world.start(argv, { url: faults.url });
    killAfter(faults, share * download.expected.container.length, () => run.child.kill('SIGKILL'));
    expect(await run.ended).toMatchObject({ signal: 'SIGKILL' });
    expect(await download.expectNothingHalf(folder, name, bytes)).toBe(false);
    await download.expectWholeNow(folder, name, bytes, argv);
    await faults.stop();
  });
});

test('a download that is killed again and again comes to its end, and never loses what it had', async () => {
  const { world } = download;
  const { container } = download.expected;
  const folder = await world.folder();
  const faults = await world.faults();
  const argv = download.command(folder);
  const step = 7 * 2 ** 20;
  let runs = 0;
  let kept = 0;
  for (let next = step; ; next = bytesPassed(faults) + step) {
    const run = world.start(argv, { url: faults.url, env: killSwitch({ fastClock: true }) });
    killAfter(faults, next, () => run.child.kill('SIGKILL'));
    runs += 1;
    const { exitCode, signal } = await run.ended;
    if (signal === null) {
      expect(exitCode).toBe(0);
      break;
    }
    expect(await download.expectNothingHalf(folder, 'large.bam.c4gh', container)).toBe(false);
    const keptNow = await journalled(folder, 'large.bam.c4gh');
    expect(keptNow).toBeGreaterThan(kept);
    kept = keptNow;
  }
  expect(runs).toBeGreaterThan(2);
  expect(bytesPassed(faults)).toBeLessThan(5 * container.length);
  expect(await download.expectNothingHalf(folder, 'large.bam.c4gh', container)).toBe(true);
  await faults.stop();
});

test('many files: each is whole or not there, and the same command fetches the others', async () => {
  const { world } = download;
  const small = Array.from({ length: 30 }, (_, index) => ({
    name: `small-${index}.c4gh`,
    content: randomBytes(3000 + index),
  }));
  for (const { name, content } of small) await world.stage(name, content);
  await inLanes(2, [1, 7, 15, 22, 29], async (index) => {
    const folder = await world.folder();
    const argv = ['download', 'small-*', '-o', folder, '--parallel', '4'];
    const last = `small-${index}.c4gh`;
    const at = { step: `rename ${last}.part 1`, ending: 'after' } as const;
    expect(await world.run(argv, { env: killSwitch({ at }) })).toMatchObject({ signal: 'SIGKILL' });
    const whole = (await namesIn(folder)).filter((name) => name.endsWith('.c4gh'));
    expect(whole).toContain(last);
    const bytesOf = (name: string) => small.find((file) => file.name === name)?.content as Buffer;
    for (const name of whole) expect((await readFile(join(folder, name))).equals(bytesOf(name))).toBe(true);
    const again = await world.run(argv);
    expect(again, again.stderr).toMatchObject({ exitCode: 0 });
    expect(await namesIn(folder)).toEqual(small.map(({ name }) => name).sort());
    for (const { name, content } of small) expect((await readFile(join(folder, name))).equals(content)).toBe(true);
  });
});

test.for(forms)('Ctrl-C keeps the bytes that came and says how to go on: $form', async ({ form, name, options }) => {
  const { world } = download;
  const folder = await world.folder();
  const faults = await world.faults();
  const argv = download.command(folder, options);
  const size = download.expected.container.length;
  const run = world.start(argv, { url: faults.url });
  killAfter(faults, size / 2, () => run.child.kill('SIGINT'), 10);
  const { exitCode, stdout, stderr } = await run.ended;
  expect(exitCode).toBe(130);
  expect(stderr).toMatch(/same command/);
  expect(await download.expectNothingHalf(folder, name, download.expected[form])).toBe(false);
  expect(await namesIn(folder)).toEqual([`${name}.part`, `${name}.part.json`]);
  // The files that stay hold no address and no credential.
  const journal = await readFile(join(folder, `${name}.part.json`), 'utf8');
  for (const secret of [world.visa, world.service.connection.archiveUser.password, 'X-Amz']) {
    expect(journal + stdout + stderr).not.toContain(secret);
  }
  expect(journal).not.toContain('http');
  const kept = await journalled(folder, name);
  expect(kept).toBeGreaterThan(size / 8);
  const before = bytesPassed(faults);
  await download.expectWholeNow(folder, name, download.expected[form], argv, faults.url);
  // If a container is decrypted on the way, its header is read again.
  expect(bytesPassed(faults) - before).toBeLessThanOrEqual(size - kept + 128 * 1024);
  await faults.stop();
});
