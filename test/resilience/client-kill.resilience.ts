import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { publicKeyFingerprint } from '../../lib/crypt4gh/index.ts';
import { notVerified } from '../helpers/client-process.ts';
import { containerOf } from '../helpers/client-world.ts';
import { type Ending, killSwitch } from '../helpers/kill-switch.ts';
import { inLanes, LargeDownload } from '../helpers/large-download.ts';
import { deliveredFile, ReceiptSigner, receiptOf, requestId } from '../helpers/receipts.ts';

/**
 * The client is killed at every kind of step that it takes on the disk, and run again by the same command. The final
 * name always stands for the whole file, and only a whole file is a success.
 */
let download: LargeDownload;

beforeAll(async () => {
  download = await LargeDownload.start(9 * 2 ** 20 + 12_345);
});
afterAll(() => download?.world.stop());

test('killed before and after every step on the disk', { timeout: 300_000 }, async () => {
  const { world } = download;
  const stepsFile = join(world.root, 'steps.json');
  const whole = await dataFolder();
  const env = killSwitch({ stepsFile });
  const undisturbed = await world.run(download.command(whole), { env });
  expect(undisturbed, undisturbed.stderr).toMatchObject({ exitCode: notVerified });
  expect(await download.expectNothingHalf(whole)).toBe(true);
  const points = pointsOf(JSON.parse(await readFile(stepsFile, 'utf8')) as string[]);
  expect(points.length).toBeGreaterThanOrEqual(30);
  let kills = 0;
  await inLanes(2, points, async ({ step, ending }) => {
    const folder = await dataFolder();
    const argv = download.command(folder);
    const killed = await world.run(argv, { env: killSwitch({ at: { step, ending } }) });
    // The number of steps depends on the order of arrival. A run that never came to this step is whole.
    if (killed.signal === 'SIGKILL') kills += 1;
    else expect(killed.exitCode).toBe(notVerified);
    await download.expectNothingHalf(folder);
    await download.expectWholeNow(folder);
  });
  expect(kills).toBeGreaterThanOrEqual(30);
});

test('each file is on the disk before it gets its name', async () => {
  const { world } = download;
  await world.stageContainer('tiny.bam.c4gh', 2_000);
  const stepsFile = join(world.root, 'syncs.json');
  const argv = ['download', 'large.bam.c4gh', 'tiny.bam.c4gh', '-o', await dataFolder()];
  const run = await world.run(argv, { env: killSwitch({ stepsFile }) });
  expect(run, run.stderr).toMatchObject({ exitCode: notVerified });
  const steps = JSON.parse(await readFile(stepsFile, 'utf8')) as string[];
  for (const name of ['large', 'tiny']) {
    const last = steps.filter((step) => step.includes(`${name}.bam.c4gh.part `)).slice(-2);
    expect(last.map((step) => step.split(' ')[0])).toEqual(['datasync', 'rename']);
  }
});

test('decrypt --delete: the container goes when the verified plaintext and its name are on the disk', async () => {
  const { world } = download;
  const folder = await world.folder();
  const plaintext = randomBytes(100_000);
  const container = await containerOf(plaintext, world.keys.publicKey);
  const signer = new ReceiptSigner();
  const listed = await deliveredFile('a.bam.c4gh', container, { plaintext });
  const receipt = receiptOf([listed], { key_fingerprint: publicKeyFingerprint(world.keys.publicKey) });
  await writeFile(join(folder, 'a.bam.c4gh'), container);
  await writeFile(join(folder, `EGAD1-${requestId(1)}.delivery.jws`), signer.sign(receipt));
  await writeFile(join(folder, 'jwks.json'), JSON.stringify(signer.keySet));
  const stepsFile = join(world.root, 'steps-decrypt.json');
  const argv = ['decrypt', folder, '--key', world.keyPath, '--keys', join(folder, 'jwks.json'), '--delete'];
  const run = await world.run(argv, { env: killSwitch({ stepsFile }) });
  expect(run, run.stderr).toMatchObject({ exitCode: 0 });
  const steps = (JSON.parse(await readFile(stepsFile, 'utf8')) as string[]).map((step) =>
    step.replace(/\.data-out-[\w.-]+\.part/, 'TEMPORARY'),
  );
  expect(steps.filter((step) => /^(datasync|link|sync|rm a)/.test(step))).toEqual([
    'datasync TEMPORARY 1',
    'link TEMPORARY 1',
    'sync a.bam 1',
    `sync ${basename(folder)} 1`,
    'rm a.bam.c4gh 1',
  ]);
  expect((await readFile(join(folder, 'a.bam'))).equals(plaintext)).toBe(true);
});

/** Always of the same name, and made by the client. */
async function dataFolder(): Promise<string> {
  return join(await download.world.folder(), 'data');
}

/**
 * Before and after the second time of each step (or its only one), and after the first. Writes also in their middle.
 */
function pointsOf(steps: readonly string[]): readonly { step: string; ending: Ending }[] {
  const byCall = Map.groupBy(steps, (step) => step.replace(/ \d+$/, ''));
  return [...byCall].flatMap(([call, all]) => {
    const endings: readonly Ending[] = call.startsWith('write ') ? ['before', 'halfway', 'after'] : ['before', 'after'];
    const [first = '', second] = all;
    const early = second === undefined ? [] : [{ step: first, ending: 'after' as const }];
    return [...early, ...endings.map((ending) => ({ step: second ?? first, ending }))];
  });
}
