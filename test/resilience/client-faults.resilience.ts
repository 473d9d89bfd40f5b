import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { notVerified } from '../helpers/client-process.ts';
import { ClientWorld, namesIn } from '../helpers/client-world.ts';
import { type Fault, FaultProxy } from '../helpers/fault-proxy.ts';
import { bytesPassed, killAfter } from '../helpers/large-download.ts';

/** The real client against the whole service, over a network that breaks. */
const plainBytes = 9 * 2 ** 20 + 777;
let world: ClientWorld;
let container: Buffer;
let faults: FaultProxy;
let folder: string;

beforeAll(async () => {
  world = await ClientWorld.start();
  ({ container } = await world.stageContainer('sample.bam.c4gh', plainBytes));
});
afterAll(() => world?.stop());
beforeEach(async () => {
  faults = await world.faults();
  folder = await world.folder();
});
afterEach(() => faults.stop());

const command = (parallel = '2') => ['download', 'sample.bam.c4gh', '-o', folder, '--parallel', parallel];

/** One run that fetches the whole file in spite of all faults. */
async function whole(broken: readonly Fault[], parallel?: string) {
  faults.break(...broken);
  const run = await world.run(command(parallel), { url: faults.url });
  expect(run, run.stderr).toMatchObject({ exitCode: notVerified });
  await expectFile();
  return run;
}

async function expectFile(): Promise<void> {
  expect(await namesIn(folder)).toEqual(['sample.bam.c4gh']);
  expect((await readFile(join(folder, 'sample.bam.c4gh'))).equals(container)).toBe(true);
}

test('connections that are cut after so many bytes are taken up', async () => {
  const cuts = [0, 1, 100, 70_000, 1_000_000, 3_000_001].map(
    (bytes, skip): Fault => ({ on: 'storage', fault: { kind: 'cut', bytes }, skip }),
  );
  await whole(cuts);
  // Bytes before a cut are not fetched again, except those of an unfinished piece.
  expect(bytesPassed(faults)).toBeLessThan(container.length + 6 * 1_200_000);
});

test('a delivery API that breaks off its answers is asked again', async () => {
  await whole([
    { on: 'api', path: /files/, fault: { kind: 'cut', bytes: 20 } },
    { on: 'api', path: /files/, fault: { kind: 'refuse' }, skip: 1 },
    { on: 'api', path: /stream/, fault: { kind: 'refuse' } },
  ]);
});

test('after a 503 the client waits as long as it says', async () => {
  const started = performance.now();
  await whole([
    { on: 'api', path: /stream/, fault: { kind: 'answer', status: 503, headers: { 'retry-after': '2' } } },
    { on: 'storage', fault: { kind: 'answer', status: 503, headers: { 'retry-after': '2' } } },
  ]);
  expect(performance.now() - started).toBeGreaterThan(4_000);
});

test('an address that expires in the middle is replaced', async () => {
  let isExpired = false;
  faults.onBytes = () => {
    if (isExpired || bytesPassed(faults) <= 2 ** 20) return undefined;
    isExpired = true;
    // A request whose reply has not begun asks for a new address in any case, so what was sent may arrive first. The next request
    // finds its address expired. This one is broken off, so that there is a next one.
    return setTimeout(200).then(() => {
      faults.break({ on: 'storage', fault: { kind: 'expire' } });
      faults.cutAll();
    });
  };
  await whole([], '1');
  const refused = faults.requests.filter(({ on, status }) => on === 'storage' && status === 403);
  expect(refused.length).toBeGreaterThan(0);
  expect(faults.requests.filter(({ path }) => path.includes('/stream/')).length).toBeGreaterThan(1);
});

test('a file that is replaced in the middle begins again, and none of the old bytes stay', async () => {
  const name = 'replaced.c4gh';
  const [before, after] = [randomBytes(9 * 2 ** 20), randomBytes(9 * 2 ** 20)];
  await world.stage(name, before);
  let replaced: Promise<void> | undefined;
  faults.onBytes = async () => {
    if (bytesPassed(faults) < 3 * 2 ** 20) return;
    replaced ??= world.stage(name, after).then(() => faults.cutAll());
    await replaced;
  };
  const run = await world.run(['download', name, '-o', folder, '--parallel', '2'], { url: faults.url });
  expect(run, run.stderr).toMatchObject({ exitCode: notVerified });
  expect(run.stderr).toMatch(/replaced/);
  expect(await namesIn(folder)).toEqual([name]);
  expect((await readFile(join(folder, name))).equals(after)).toBe(true);
});

test('a proxy that goes away for seconds and comes back does no harm', async () => {
  const target = world.service.connection.proxyUrl;
  killAfter(faults, 2 ** 20, () => faults.cutAll());
  const { port } = new URL(faults.url);
  const run = world.start(command(), { url: faults.url });
  while (bytesPassed(faults) < 2 ** 20) await setTimeout(20);
  await faults.stop();
  await setTimeout(1_500);
  faults = await FaultProxy.start(target, Number(port));
  const { exitCode, stderr } = await run.ended;
  expect(exitCode, stderr).toBe(notVerified);
  await expectFile();
});

test('a network that is gone is reported soon', async () => {
  const { url } = faults;
  await faults.stop();
  const run = await world.run(command(), { url });
  expect(run.exitCode).toBe(7);
  expect(run.stderr).toMatch(/no service listens/);
  expect(await namesIn(folder)).toEqual([]);
  faults = await world.faults();
});

test('a stalled transfer is given up after half a minute, and resumed', async () => {
  const { stderr } = await whole([{ on: 'storage', fault: { kind: 'stall', bytes: 2_000_000 } }]);
  expect(stderr).toMatch(/stalled/);
  expect(bytesPassed(faults)).toBeLessThan(container.length + 2 * 2 ** 20);
});
