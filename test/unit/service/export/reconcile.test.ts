import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { BrokenFanOut, UnfinishedRequests } from '../../../../lib/service/export/ledger-port.ts';
import { reconcileDeliveries } from '../../../../lib/service/export/reconcile.ts';
import { TestDatabase } from '../../../helpers/data-api.ts';
import { rowIdOf } from '../../../helpers/fake-catalogue.ts';
import { LedgerWorld } from '../../../helpers/ledger-world.ts';

const requestId = '6f1d7a9e-3b1c-4d0e-9a57-0c5a4f2b8e11';
const now = new Date('2026-11-21T10:00:00.000Z');
const receive = { count: 1, isLast: false };
const request = {
  requestId,
  requestedAt: new Date('2026-11-21T09:00:00.000Z'),
  datasetId: 'EGAD1',
  recipient: 'ab',
  keyFingerprint: 'cd',
};

/** Answers of the tables, and what they were asked. */
class FakeUnfinishedRequests implements Omit<UnfinishedRequests, 'hasUnfinalized'> {
  readonly asked: string[] = [];
  silent = [0];
  expired = [0];
  broken: readonly BrokenFanOut[] = [];
  settled: string[][] = [];
  readonly giveUpSilent = (before: Date): Promise<number> => {
    this.asked.push(`silent ${before.toISOString()}`);
    return Promise.resolve(this.silent.shift() ?? 0);
  };
  readonly giveUpExpired = (before: Date): Promise<number> => {
    this.asked.push(`expired ${before.toISOString()}`);
    return Promise.resolve(this.expired.shift() ?? 0);
  };
  readonly brokenFanOuts = async (tried: Date, expired: Date): Promise<readonly BrokenFanOut[]> => {
    this.asked.push(`broken ${tried.toISOString()} ${expired.toISOString()}`);
    // The rows of a fan-out that has ended are not found again.
    const ended = await Promise.all(
      this.broken.map(async ({ request: { requestId } }) => (await world.row(requestId))?.isFannedOut),
    );
    return this.broken.filter((_, index) => !ended[index]);
  };
  readonly unclosed = (quiet: Date): Promise<readonly string[]> => {
    this.asked.push(`unclosed ${quiet.toISOString()}`);
    return Promise.resolve(this.settled.shift() ?? []);
  };
}

let database: TestDatabase;
let world: LedgerWorld;
let unfinished: FakeUnfinishedRequests;
beforeAll(async () => {
  database = await TestDatabase.shared();
});
afterAll(() => database[Symbol.asyncDispose]());
beforeEach(async () => {
  world = await LedgerWorld.on(database);
  world.catalogue.addDataset('EGAD1', { released: true, fileIds: ['F1', 'F2', 'F3', 'F4'] });
  unfinished = new FakeUnfinishedRequests();
});
const run = (remainingMs = () => 240_000) =>
  reconcileDeliveries({ ...world.consuming, ledger: { ...world.ledger, ...unfinished }, now: () => now }, remainingMs);

test('asks for what is older than the longest invocation, than any message, and than five minutes', async () => {
  expect(await run()).toEqual({ givenUp: 0, expired: 0, failed: 0, sentAgain: 0 });
  expect(unfinished.asked).toEqual([
    'unclosed 2026-11-21T09:55:00.000Z',
    'silent 2026-11-21T09:40:00.000Z',
    'expired 2026-11-07T10:00:00.000Z',
    'broken 2026-11-21T09:40:00.000Z 2026-11-07T10:00:00.000Z',
  ]);
  expect(world.deliveries.sent).toEqual([]);
});

test('continues until no file is left to give up, and sends settled requests on again', async () => {
  unfinished.silent = [1000, 1000, 7, 0];
  unfinished.expired = [1, 0];
  unfinished.settled = [[requestId, 'b'], ['c']];
  expect(await run()).toEqual({ givenUp: 2008, expired: 1, failed: 0, sentAgain: 3 });
  expect(world.deliveries.sent).toEqual([requestId, 'b', 'c']);
});

test('gives up a fan-out that died: its unsent files, then the request', async () => {
  await world.ledger.accept(request, ['F1', 'F2'], receive);
  unfinished.broken = [{ request, progress: { sentTo: rowIdOf('F1'), files: 1 } }];
  expect(await run()).toEqual({ givenUp: 0, expired: 0, failed: 1, sentAgain: 0 });
  expect(await world.row(requestId)).toMatchObject({
    state: 'failed',
    reason: 'no_answer',
    isFannedOut: true,
  });
  expect(await world.statesOf(requestId)).toEqual(['F1: pending', 'F2: given_up', 'F3: given_up', 'F4: given_up']);
});

test('ends what a delivery began to give up, with its reason', async () => {
  await world.ledger.accept(request, [], receive);
  await world.ledger.fail(request, 'internal_error');
  unfinished.broken = [{ request, progress: { sentTo: '', files: 0 }, reason: 'internal_error' }];
  await run();
  expect(await world.row(requestId)).toMatchObject({ state: 'failed', reason: 'internal_error' });
  expect(world.deliveries.sent).toEqual([requestId]);
});

test('leaves the rest to the next unfinished when its time ends', async () => {
  unfinished.silent = Array(1000).fill(1000);
  unfinished.broken = [{ request, progress: { sentTo: '', files: 0 } }];
  let left = 110_000;
  expect(await run(() => (left -= 10_000))).toEqual({ givenUp: 6000, expired: 0, failed: 0, sentAgain: 0 });
});

test('a fan-out that cannot be closed keeps no other waiting, and the unfinished fails at its end', async () => {
  const other = 'a2c1f0de-7777-4aaa-8bbb-1234567890ab';
  const small = { ...request, requestId: other };
  for (const one of [request, small]) await world.ledger.accept(one, [], receive);
  unfinished.broken = [request, small].map((one) => ({ request: one, progress: { sentTo: '', files: 0 } }));
  const fail = world.ledger.fail.bind(world.ledger);
  world.ledger.fail = async (refused, reason) => {
    if (refused.requestId === requestId) throw new Error('its position is none');
    return await fail(refused, reason);
  };
  await expect(run()).rejects.toThrow('its position is none');
  expect(world.deliveries.sent).toEqual([other]);
});

test('small fan-outs that are broken end one after the other, not all in the last round', async () => {
  world.catalogue.addDataset('EGAD1', { released: true, fileIds: ['F1'] });
  const other = { ...request, requestId: 'a2c1f0de-7777-4aaa-8bbb-1234567890ab' };
  for (const one of [request, other]) await world.ledger.accept(one, [], receive);
  unfinished.broken = [request, other].map((one) => ({ request: one, progress: { sentTo: '', files: 0 } }));
  const before = world.calls.names.length;
  expect(await run()).toMatchObject({ failed: 2 });
  const steps = world.calls.names.slice(before).filter((name) => /^ledger\.(closeUnsent|completeFanOut)/.test(name));
  expect(steps).toEqual(['ledger.closeUnsent', 'ledger.completeFanOut', 'ledger.closeUnsent', 'ledger.completeFanOut']);
});

test('a large fan-out that is broken keeps no other waiting, and the next unfinished continues where this one stopped', async () => {
  const other = 'a2c1f0de-7777-4aaa-8bbb-1234567890ab';
  world.catalogue.addDataset('EGAD1', {
    released: true,
    fileIds: Array.from({ length: 2040 }, (_, n) => `F${n + 1000}`),
  });
  world.catalogue.addDataset('EGAD2', { released: true, fileIds: ['G1'] });
  const small = { ...request, requestId: other, datasetId: 'EGAD2' };
  for (const one of [request, small]) {
    await world.ledger.accept(one, [], receive);
  }
  const start = { sentTo: '', files: 0 };
  unfinished.broken = [
    { request, progress: start },
    { request: small, progress: start },
  ];
  unfinished.settled = [['waiting']];
  // Time for two rounds.
  let steps = 0;
  const asked = () => (++steps > 10 ? 0 : 240_000);
  expect(await run(asked)).toMatchObject({ failed: 1, sentAgain: 1 });
  expect(world.deliveries.sent).toEqual(['waiting', other]);
  expect(await world.row(requestId)).toMatchObject({
    isFannedOut: false,
  });
  const before = world.calls.names.length;
  expect(await run()).toMatchObject({ failed: 1 });
  const pages = world.calls.names.slice(before).filter((name) => name === 'ledger.closeUnsent');
  // A page has 1,000 files: those of the first run are not closed again.
  expect(pages).toHaveLength(1);
  expect(await world.statesOf(requestId)).toHaveLength(2040);
  expect(world.deliveries.sent).toEqual(['waiting', other, requestId]);
});
