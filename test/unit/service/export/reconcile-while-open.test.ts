import { beforeEach, expect, test } from 'vitest';
import { reconcileWhileOpen } from '../../../../lib/service/export/reconcile.ts';
import { remove } from '../../../../lib/service/export/withdraw/remove.ts';
import { WithdrawWorld } from '../../../helpers/withdraw-world.ts';

const marker = 'open-requests';
/** The helper's objects are of 09:00:01. */
const soon = '2026-11-21T09:10:00.000Z';
const later = '2026-11-21T09:30:00.000Z';
const nextDay = '2026-11-22T09:30:00.000Z';

let world: WithdrawWorld;
let asked: string[];
beforeEach(() => {
  world = new WithdrawWorld();
  asked = [];
});

async function sweep(at: string, { unsettled = false, net = false, meanwhile = () => {} } = {}) {
  const hasUnfinalized = async () => {
    asked.push('unsettled');
    meanwhile();
    return unsettled;
  };
  await reconcileWhileOpen(
    { outbox: world.outbox, ledger: { hasUnfinalized }, now: () => new Date(at) },
    net,
    async () => {
      asked.push('sweep');
    },
  );
  return world.objects.has(marker);
}

test('without the marker the database is not asked, but by the net', async () => {
  expect([await sweep(later), asked]).toEqual([false, []]);
  expect([await sweep(later, { net: true }), asked]).toEqual([false, ['sweep', 'unsettled']]);
  expect(world.marked).toBe(0);
});

test('with the marker it is asked, and the marker goes once nothing is open', async () => {
  world.hold(marker, {});
  expect(await sweep(later, { unsettled: true })).toBe(true);
  expect(await sweep(later)).toBe(false);
  expect(asked).toEqual(['sweep', 'unsettled', 'sweep', 'unsettled']);
});

test('a young marker stays: its request may not be recorded yet', async () => {
  world.hold(marker, {});
  expect(await sweep(soon)).toBe(true);
});

test('a marker that was written again meanwhile stays', async () => {
  world.hold(marker, {});
  expect(await sweep(later, { meanwhile: () => world.hold(marker, {}) })).toBe(true);
});

test('an old marker of a request that is open is renewed, and a lost one is made again by the net', async () => {
  world.hold(marker, {});
  await sweep(later, { unsettled: true });
  expect(world.marked).toBe(0);
  await sweep(nextDay, { unsettled: true });
  expect(world.marked).toBe(1);
  world.objects.delete(marker);
  await sweep(later, { unsettled: true, net: true });
  expect(world.marked).toBe(2);
});

test('the net sweeps also on a day when the marker cannot be read', async () => {
  const outbox = { ...world.outbox, head: () => Promise.reject(new Error('S3 refuses')) };
  const sweepOnce = async () => void asked.push('sweep');
  const run = (isNet: boolean) =>
    reconcileWhileOpen(
      { outbox, ledger: { hasUnfinalized: async () => false }, now: () => new Date(later) },
      isNet,
      sweepOnce,
    );
  await expect(run(false)).rejects.toThrow('S3 refuses');
  await expect(run(true)).rejects.toThrow('S3 refuses');
  expect(asked).toEqual(['sweep']);
});

test('a failure leaves the marker', async () => {
  world.hold(marker, {});
  const outbox = world.outbox;
  const failing = () => Promise.reject(new Error('no database'));
  const run = reconcileWhileOpen(
    { outbox, ledger: { hasUnfinalized: failing }, now: () => new Date(later) },
    false,
    async () => {},
  );
  await expect(run).rejects.toThrow('no database');
  expect(world.objects.has(marker)).toBe(true);
});

test('who takes a container away writes the marker: its request gets another receipt', async () => {
  const row = { requestId: 'r', fileId: 'EGAF1', datasetId: 'EGAD1', recipient: 'a', key: 'a/EGAF1.c4gh' };
  world.stage({ ...row, state: 'staged' });
  await remove([{ ...row, state: 'staged', found: 'nothing' }], 'purged', world);
  expect(world.marked).toBe(1);
});
