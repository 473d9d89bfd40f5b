import './emulator-names.ts';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { makeTestIssuer } from '../../test/helpers/issuer.ts';
import { baseOf, migrationsOf, squashSince } from './base.ts';
import { changeInPlace, deployAgain, failToUpdate, switchOnAll, usual } from './changes.ts';
import { Checkout, treeOfToday } from './checkout.ts';
import { Cloud } from './cloud.ts';
import { MainJob } from './main-job.ts';
import { notProven } from './not-proven.ts';
import { changePassword, rebuild, restore, takeDown } from './recovery.ts';
import { Steps } from './run-steps.ts';
import { secondOpinion } from './second-opinion.ts';
import { Callers } from './upgrade.ts';

const { values: options } = parseArgs({ options: { all: { type: 'boolean' }, base: { type: 'string' } } });
const steps = new Steps(join(import.meta.dirname, 'logs'));
const folder = mkdtempSync(join(tmpdir(), 'second-cloud-'));
const issuer = await makeTestIssuer();
const clouds: Cloud[] = [];
let tree: string;

/** An empty cloud, and the operator's checkout of a tree, bootstrapped. */
async function begin(name: string, ofTree: () => string): Promise<Checkout> {
  let checkout: Checkout | undefined;
  await steps.take(`${name}: emulator, PostgreSQL, settings of an operator, bootstrap`, async (log) => {
    const place = join(folder, name);
    mkdirSync(place);
    const cloud = await Cloud.start(place, log);
    clouds.push(cloud);
    checkout = await Checkout.of(ofTree(), join(place, 'checkout'), cloud, log);
    checkout.writeSettings(usual);
    await checkout.trust(issuer, log);
    await checkout.cdk(log, 'bootstrap');
    return await cloud.version(log);
  });
  return checkout as Checkout;
}

async function deliverFirst(checkout: Checkout, name: string): Promise<MainJob> {
  const job = new MainJob(checkout, issuer, join(folder, name, 'work'));
  await steps.take('deploy both stacks', (log) => checkout.deploy(log));
  await steps.take(
    'archive key, people, packed client',
    async (log) => `${await job.installClient(log)}, ${await job.makePeople(log)}`,
  );
  await steps.take('archive, release', (log) => job.fillArchive(log));
  return job;
}

async function mainJob(checkout: Checkout): Promise<MainJob> {
  await steps.take('preflight', (log) => checkout.preflight(log));
  const job = await deliverFirst(checkout, 'today');
  await steps.take('smoke test', (log) => checkout.smoke(log));
  await steps.take('export', (log) => job.export(log));
  await steps.take('list, download, decrypt, verify the receipt', (log) => job.download(log));
  await steps.take('the direct API, DRS', () => job.directAccess());
  await steps.take('htsget', () => job.htsget());
  return job;
}

async function theRest(checkout: Checkout, job: MainJob): Promise<void> {
  await steps.take('deploy again', (log) => deployAgain(checkout, log));
  await steps.take('change settings in place', (log) => changeInPlace(checkout, job, log));
  await steps.take('switch everything on', (log) => switchOnAll(checkout, log));
  await steps.take('smoke test with everything on', (log) => checkout.smoke(log));
  await steps.take('change the password of a database role', (log) => changePassword(checkout, job, log));
  await steps.take('an update that fails', (log) => failToUpdate(checkout, job, log));
  await steps.take('lose and rebuild the service stack', (log) => rebuild(checkout, job, log));
  await steps.take('lose and restore the database', (log) => restore(checkout, job, log));
}

/** The base, with data in it, then today's tree over it while callers ask. */
async function upgrade(): Promise<void> {
  let base = '';
  let squash: string | undefined;
  await steps.take('what the upgrade starts from', async (log) => {
    base = options.base ?? (await baseOf(tree, log)) ?? '';
    if (!base) return 'not run: this clone has no earlier commit of main';
    squash = squashSince(await migrationsOf(base, log), await migrationsOf(tree, log));
    return squash === undefined ? base : `not run, because ${base} cannot be upgraded: ${squash}`;
  });
  if (!base || squash !== undefined) return;
  const former = await begin('upgrade', () => base);
  const job = await deliverFirst(former, 'upgrade');
  // The base's client may have other words for an export.
  await steps.take('export', () => job.exportByRoute());
  await steps.take('deploy today’s tree over it while callers ask', async (log) => {
    const before = await former.records(log);
    const today = await Checkout.of(tree, join(folder, 'upgrade/today'), former.cloud, log);
    today.adopt(former);
    const callers = new Callers(job);
    let said: string;
    try {
      said = await today.deploy(log);
    } finally {
      await callers.stop();
    }
    const after = new Set(await today.records(log));
    const lost = before.filter((row) => !after.has(row));
    if (lost.length > 0) throw new Error(`lost: ${lost.join(', ')}`);
    return `${said}; ${await callers.judge()}; ${await job.download(log)}; ${await job.exportByRoute()}`;
  });
}

try {
  await steps.take('tree', async (log) => {
    tree = await treeOfToday(folder, log);
    return tree;
  });
  const checkout = await begin('today', () => tree);
  const job = await mainJob(checkout);
  if (options.all) await theRest(checkout, job);
  await steps.take('second opinion on the grants', async (log) => secondOpinion(checkout.cloud, log));
  if (options.all) await steps.take('take the deployment down', (log) => takeDown(checkout, log));
  await clouds.pop()?.stop();
  await upgrade();
  process.stdout.write(`passed in ${steps.total}\n\n${notProven(checkout.cloud.gaps)}`);
} catch (error) {
  process.stdout.write(`failed after ${steps.total}: ${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
} finally {
  for (const cloud of clouds) await cloud.stop();
  rmSync(folder, { recursive: true, force: true });
}
