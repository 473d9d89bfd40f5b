import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { notVerified } from '../helpers/client-process.ts';
import { namesIn } from '../helpers/client-world.ts';
import { type Ending, killSwitch } from '../helpers/kill-switch.ts';
import { bytesPassed, inLanes, journalled, killAfter, LargeDownload } from '../helpers/large-download.ts';

/** As in `client-stop`, with a client that takes a switch in its Node.js, which an executable does not. */
let download: LargeDownload;

beforeAll(async () => {
  download = await LargeDownload.start(65 * 2 ** 20 + 12_345);
});
afterAll(() => download?.world.stop());

test('a download that is killed again and again comes to its end, and never loses what it had', async () => {
  const { world, container } = download;
  const folder = await world.folder();
  const faults = await world.faults();
  const argv = download.command(folder);
  /** Of three pieces, at least one is whole then. */
  const step = 28 * 2 ** 20;
  let runs = 0;
  let kept = 0;
  for (let next = step; ; next = bytesPassed(faults) + step) {
    const run = world.start(argv, { url: faults.url, env: killSwitch({}) });
    killAfter(faults, next, () => run.child.kill('SIGKILL'));
    runs += 1;
    const { exitCode, signal } = await run.ended;
    if (signal === null) {
      expect(exitCode).toBe(notVerified);
      break;
    }
    expect(await download.expectNothingHalf(folder, 'large.bam.c4gh', container)).toBe(false);
    const keptNow = await journalled(folder, 'large.bam.c4gh');
    // A busy machine may kill it before it wrote down anything new.
    expect(keptNow).toBeGreaterThanOrEqual(kept);
    kept = keptNow;
  }
  expect(runs).toBeGreaterThan(2);
  expect(bytesPassed(faults)).toBeLessThan(5 * container.length);
  expect(await download.expectNothingHalf(folder, 'large.bam.c4gh', container)).toBe(true);
  await faults.stop();
});

test('many files: each is whole or not there, and the same command fetches the others', {
  timeout: 150_000,
}, async () => {
  const { world } = download;
  const small = Array.from({ length: 30 }, (_, index) => ({
    name: `small-${index}.c4gh`,
    content: randomBytes(3000 + index),
  }));
  for (const { name, content } of small) await world.stage(name, content);
  const named = [1, 7, 15, 22, 29].map((index) => `small-${index}.c4gh`);
  const points: readonly { readonly step: string; readonly ending: Ending; readonly whole?: string }[] = [
    ...named.map((name) => ({ step: `rename ${name}.part 1`, ending: 'after' as const, whole: name })),
    ...named.slice(2).map((name) => ({ step: `writeFile ${name}.part.lock 1`, ending: 'after' as const })),
    { step: `rm ${named[2]}.part.lock 1`, ending: 'before' },
    ...(['before', 'after'] as const).map((ending) => ({ step: `datasync ${named[3]}.part 1`, ending })),
  ];
  let kills = 0;
  await inLanes(2, points, async ({ step, ending, whole: last }) => {
    const folder = await world.folder();
    const argv = ['download', 'small-*', '-o', folder, '--parallel', '4'];
    const run = await world.run(argv, { env: killSwitch({ at: { step, ending } }) });
    expect([step, run.signal]).toEqual([step, 'SIGKILL']);
    kills += 1;
    const whole = (await namesIn(folder)).filter((name) => name.endsWith('.c4gh'));
    if (last) expect(whole).toContain(last);
    const bytesOf = (name: string) => small.find((file) => file.name === name)?.content as Buffer;
    for (const name of whole) expect((await readFile(join(folder, name))).equals(bytesOf(name))).toBe(true);
    const again = await world.run(argv);
    expect(again, again.stderr).toMatchObject({ exitCode: notVerified });
    expect(await namesIn(folder)).toEqual(small.map(({ name }) => name).sort());
    for (const { name, content } of small) expect((await readFile(join(folder, name))).equals(content)).toBe(true);
  });
  expect(kills).toBeGreaterThanOrEqual(8);
});
