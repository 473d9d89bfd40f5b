import { beforeEach, expect, test } from 'vitest';
import type { BrokenFanOut, Sweep } from '../../../lib/export/sweep.ts';
import { sweepDeliveries } from '../../../lib/export/sweep.ts';
import { ExportWorld } from '../../helpers/export-world.ts';

const requestId = '6f1d7a9e-3b1c-4d0e-9a57-0c5a4f2b8e11';
const now = new Date('2026-11-21T10:00:00.000Z');
const request = {
  requestId,
  requestedAt: new Date('2026-11-21T09:00:00.000Z'),
  datasetId: 'EGAD1',
  recipient: 'ab',
  keyFingerprint: 'cd',
};

/** Answers of the tables, and what they were asked. */
class FakeSweep implements Sweep {
  readonly asked: string[] = [];
  silent = [0];
  expired = [0];
  broken: readonly BrokenFanOut[] = [];
  settled: readonly string[] = [];
  giveUpSilent(before: Date): Promise<number> {
    this.asked.push(`silent ${before.toISOString()}`);
    return Promise.resolve(this.silent.shift() ?? 0);
  }
  giveUpExpired(before: Date): Promise<number> {
    this.asked.push(`expired ${before.toISOString()}`);
    return Promise.resolve(this.expired.shift() ?? 0);
  }
  brokenFanOuts(tried: Date, expired: Date): Promise<readonly BrokenFanOut[]> {
    this.asked.push(`broken ${tried.toISOString()} ${expired.toISOString()}`);
    return Promise.resolve(this.broken);
  }
  unclosed(quiet: Date): Promise<readonly string[]> {
    this.asked.push(`unclosed ${quiet.toISOString()}`);
    return Promise.resolve(this.settled);
  }
}

let world: ExportWorld;
let sweep: FakeSweep;
beforeEach(() => {
  world = new ExportWorld();
  world.catalogue.addDataset('EGAD1', { released: true, fileIds: ['F1', 'F2', 'F3', 'F4'] });
  sweep = new FakeSweep();
});
const run = (remainingMs = () => 240_000) =>
  sweepDeliveries({ ...world.consuming, sweep, now: () => now }, remainingMs);

test('asks for what is older than the longest invocation, than any message, and than five minutes', async () => {
  expect(await run()).toEqual({ givenUp: 0, expired: 0, failed: 0, sentAgain: 0 });
  expect(sweep.asked).toEqual([
    'silent 2026-11-21T09:40:00.000Z',
    'expired 2026-11-07T10:00:00.000Z',
    'broken 2026-11-21T09:40:00.000Z 2026-11-07T10:00:00.000Z',
    'unclosed 2026-11-21T09:55:00.000Z',
  ]);
  expect(world.deliveries.sent).toEqual([]);
});

test('goes on until no file is left to give up, and sends settled requests on again', async () => {
  sweep.silent = [1000, 1000, 7, 0];
  sweep.expired = [1, 0];
  sweep.settled = [requestId];
  expect(await run()).toEqual({ givenUp: 2008, expired: 1, failed: 0, sentAgain: 1 });
  expect(world.deliveries.sent).toEqual([requestId]);
});

test('gives up a fan-out that died: its unsent files, then the request', async () => {
  await world.requests.accept(request, ['F1', 'F2']);
  sweep.broken = [{ request, progress: { sentTo: 'F1', files: 1 } }];
  expect(await run()).toEqual({ givenUp: 0, expired: 0, failed: 1, sentAgain: 0 });
  expect(world.requests.requests.get(requestId)).toMatchObject({
    state: 'failed',
    reason: 'no_answer',
    isSealed: true,
  });
  expect(world.requests.statesOf(requestId)).toEqual(['F1: pending', 'F2: given_up', 'F3: given_up', 'F4: given_up']);
});

test('ends what a delivery began to give up, with its reason', async () => {
  await world.requests.accept(request, []);
  await world.requests.fail(request, 'internal_error');
  sweep.broken = [{ request, progress: { sentTo: '', files: 0 }, reason: 'internal_error' }];
  await run();
  expect(world.requests.requests.get(requestId)).toMatchObject({ state: 'failed', reason: 'internal_error' });
  expect(world.deliveries.sent).toEqual([requestId]);
});

test('leaves the rest to the next sweep when its time ends', async () => {
  sweep.silent = Array(1000).fill(1000);
  sweep.broken = [{ request, progress: { sentTo: '', files: 0 } }];
  sweep.settled = [requestId];
  let left = 100_000;
  expect(await run(() => (left -= 10_000))).toEqual({ givenUp: 6000, expired: 0, failed: 0, sentAgain: 0 });
  expect(world.deliveries.sent).toEqual([]);
});
