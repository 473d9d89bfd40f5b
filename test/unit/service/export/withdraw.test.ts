import { beforeEach, describe, expect, test } from 'vitest';
import { unavailable } from '../../../../lib/errors.ts';
import type { RecordedContainer } from '../../../../lib/service/export/ledger-port.ts';
import { withdrawDeprecated } from '../../../../lib/service/export/withdraw/reconcile.ts';
import { WithdrawWorld } from '../../../helpers/withdraw-world.ts';

const one = '11111111-1111-4111-8111-111111111111';
const two = '22222222-2222-4222-8222-222222222222';
const jane = 'ab'.repeat(32);
const direct = (name: string) => `direct/${'0a'.repeat(32)}/${name}.c4gh`;

const container = (fileId: string, more: Partial<RecordedContainer> = {}): RecordedContainer => ({
  requestId: one,
  fileId,
  datasetId: 'EGAD1',
  recipient: jane,
  key: `${jane}/${fileId}-a.c4gh`,
  state: 'staged',
  ...more,
});

let world: WithdrawWorld;
beforeEach(() => {
  world = new WithdrawWorld();
  world.deprecated = [{ datasetId: 'EGAD1', isRecent: true }];
});
const run = (options: { deletes?: boolean; limit?: number; isOver?: () => boolean } = {}) =>
  withdrawDeprecated(world, { deletes: true, limit: 1_000, isOver: () => false, ...options });
const withdrawal = { datasetId: 'EGAD1', found: 1, removed: 1, copiesEnded: 0 };

describe('a run that deletes', () => {
  test('removes a container, then settles its row and tells the audit trail, both at once', async () => {
    world.stage(container('EGAF1'), 42);
    expect(await run()).toEqual([withdrawal]);
    expect([...world.objects]).toEqual([]);
    expect(world.events).toEqual([
      {
        requestId: one,
        event: 'withdrawn',
        datasetId: 'EGAD1',
        fileId: 'EGAF1',
        recipient: jane,
        bytes: 42,
        keyFingerprint: 'ab12',
      },
    ]);
    expect(world.settled).toEqual([expect.objectContaining({ fileId: 'EGAF1', end: 'withdrawn' })]);
    expect(world.calls).toEqual([`remove ${container('EGAF1').key}`, 'record']);
  });

  test('finds nothing the next time', async () => {
    world.stage(container('EGAF1'));
    await run();
    expect(await run()).toEqual([]);
    expect(world.events).toHaveLength(1);
  });

  test('leaves a container of another dataset under the same key, and names its request', async () => {
    world.stage(container('EGAF1'));
    world.hold(container('EGAF1').key, { requestId: two, datasetId: 'EGAD2' });
    expect(await run()).toEqual([]);
    expect([...world.objects.keys()]).toEqual([container('EGAF1').key]);
    expect(world.settled).toEqual([expect.objectContaining({ requestId: one, end: 'superseded', by: two })]);
    expect(world.events).toEqual([]);
  });

  test('removes the container of a newer request of the same dataset', async () => {
    world.stage(container('EGAF1'));
    world.hold(container('EGAF1').key, { requestId: two });
    expect(await run()).toEqual([withdrawal]);
    expect(world.objects.size).toBe(0);
  });

  test('leaves a container that came while it looked, with its row', async () => {
    world.stage(container('EGAF1'));
    world.afterHead = (key) => world.hold(key, { requestId: two, datasetId: 'EGAD2' });
    expect(await run()).toEqual([{ ...withdrawal, removed: 0 }]);
    expect(world.objects.size).toBe(1);
    expect([world.settled, world.events]).toEqual([[], []]);
  });

  test('settles the row of a container that is gone, as after a run that broke off', async () => {
    world.rows.push(container('EGAF1'));
    expect(await run()).toEqual([]);
    expect(world.settled).toEqual([expect.objectContaining({ fileId: 'EGAF1', end: 'withdrawn' })]);
    expect(world.events).toEqual([expect.not.objectContaining({ bytes: expect.anything() })]);
  });

  test('tells the audit trail in the next run what a broken one had deleted', async () => {
    world.stage(container('EGAF1'));
    const { recordRemoval } = world.ledger;
    world.ledger.recordRemoval = async () => Promise.reject(unavailable('the database is away'));
    await expect(run()).rejects.toThrow(expect.objectContaining({ code: 'temporarily_unavailable' }));
    expect([world.objects.size, world.settled]).toEqual([0, []]);
    world.ledger.recordRemoval = recordRemoval;
    await run();
    expect(world.events).toEqual([expect.objectContaining({ event: 'withdrawn', fileId: 'EGAF1' })]);
    expect(world.settled).toHaveLength(1);
  });

  test('removes what an attempt left that was given up, and says nothing of one that left nothing', async () => {
    world.stage(container('EGAF1', { state: 'given_up' }));
    world.rows.push(container('EGAF2', { state: 'given_up' }));
    expect(await run()).toEqual([withdrawal]);
    expect(world.settled.map(({ fileId }) => fileId)).toEqual(['EGAF1']);
    expect(world.events.map(({ fileId }) => fileId)).toEqual(['EGAF1']);
  });

  test('leaves every dataset alone that is not deprecated', async () => {
    world.deprecated = [];
    world.stage(container('EGAF1'));
    world.hold(direct('EGAF1-a'));
    expect(await run()).toEqual([]);
    expect(world.objects.size).toBe(2);
  });

  test('ends at its limit and continues the next time', async () => {
    world.pageSize = 2;
    for (const fileId of ['F1', 'F2', 'F3', 'F4', 'F5']) world.stage(container(fileId));
    expect(await run({ limit: 3 })).toEqual([{ ...withdrawal, found: 4, removed: 4 }]);
    expect(await run({ limit: 3 })).toEqual([withdrawal]);
  });

  test('ends with its time', async () => {
    world.stage(container('EGAF1'));
    expect(await run({ isOver: () => true })).toEqual([]);
    expect(world.objects.size).toBe(1);
  });

  test('ends unfinished copies of the dataset, and none of another dataset to the same key', async () => {
    const { key } = container('EGAF1');
    world.recordedCopies = [{ requestId: one, fileId: 'EGAF1', outboxKey: key, uploadId: 'ours' }];
    world.recorded.set(key, ['ours', 'theirs']);
    world.uploads.set(key, new Set(['ours', 'lost', 'theirs']));
    expect(await run()).toEqual([{ ...withdrawal, found: 0, removed: 0, copiesEnded: 1 }]);
    expect([...(world.uploads.get(key) ?? [])]).toEqual(['theirs']);
    expect(world.calls).toEqual([`abort ${key}`, 'forget ours']);
  });
});

describe('short-lived containers of direct access', () => {
  test('go if they are of the dataset', async () => {
    world.hold(direct('EGAF1-a'), { requestId: two });
    world.hold(direct('EGAF2-a'), { datasetId: 'EGAD2' });
    expect(await run()).toEqual([withdrawal]);
    expect([...world.objects.keys()]).toEqual([direct('EGAF2-a')]);
    const told = { requestId: two, event: 'withdrawn', datasetId: 'EGAD1', fileId: 'EGAF1', bytes: 7 };
    expect(world.events).toEqual([{ ...told, keyFingerprint: 'ab12' }]);
  });

  test('are looked at only while one may be left', async () => {
    world.deprecated = [{ datasetId: 'EGAD1', isRecent: false }];
    world.hold(direct('EGAF1-a'));
    expect(await run()).toEqual([]);
  });

  test('without metadata of ours stay', async () => {
    world.objects.set(direct('x'), { etag: '"1"', size: 1, lastModified: new Date(0), metadata: {} });
    expect(await run()).toEqual([]);
    expect(world.objects.size).toBe(1);
  });
});

describe('a run that reports', () => {
  test('deletes nothing, ends no copy, and finds the same the next time', async () => {
    world.stage(container('EGAF1'));
    world.hold(direct('EGAF2-a'));
    world.recordedCopies = [{ requestId: one, fileId: 'EGAF3', outboxKey: 'k', uploadId: 'u' }];
    for (const _ of [1, 2]) expect(await run({ deletes: false })).toEqual([{ ...withdrawal, found: 2, removed: 0 }]);
    expect(world.objects.size).toBe(2);
    expect(world.calls).toEqual([]);
  });

  test('counts an object once, however many requests put it there', async () => {
    world.stage(container('EGAF1'));
    world.rows.push(container('EGAF1', { requestId: two }));
    expect(await run({ deletes: false })).toEqual([{ ...withdrawal, removed: 0 }]);
  });

  test('settles the rows of containers that are gone', async () => {
    world.rows.push(container('EGAF1'));
    expect(await run({ deletes: false })).toEqual([]);
    expect(world.settled).toHaveLength(1);
  });
});
