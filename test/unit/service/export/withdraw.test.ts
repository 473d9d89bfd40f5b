import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { outboxMetadataOf, outboxPrefix } from '../../../../lib/contract/outbox-key.ts';
import { withdrawDeprecated } from '../../../../lib/service/export/withdraw/withdraw.ts';
import { ExportPipeline, subject } from '../../../helpers/export-pipeline.ts';

const prefix = outboxPrefix(subject);
const keyOf = (id: string) => `${prefix}/${id}-${id}.bin.c4gh`;
const direct = `direct/${'cd'.repeat(32)}/EGAF1-a.c4gh`;

let world: ExportPipeline;
beforeEach(async () => {
  world = await ExportPipeline.open();
});

/** A request that is settled: its containers are in the outbox. */
async function delivered(
  datasetId = 'EGAD1',
  files: readonly string[] = ['EGAF1', 'EGAF2'],
  at?: Date,
): Promise<string> {
  if (world.outbox.objects.size === 0 || datasetId !== 'EGAD1') await world.addDataset(datasetId, files);
  world.grant(datasetId, datasetId);
  const id = world.request({ datasetId }, { token: datasetId, ...(at && { at }) });
  await world.deliverAll();
  return id;
}

async function deprecateAndWithdraw(...given: Parameters<ExportPipeline['withdraw']>) {
  await world.event('EGAD1', 'deprecated');
  return await world.withdraw(...given);
}

/** An object of other writers. */
function hold(key: string, facts: { requestId?: string; datasetId?: string } = {}): void {
  const { requestId = randomUUID(), datasetId = 'EGAD1' } = facts;
  const metadata = outboxMetadataOf({ requestId, requestedAt: '', fileId: 'EGAF1', datasetId, keyFingerprint: 'aa' });
  world.outbox.objects.set(key, { bytes: Buffer.alloc(7), etag: `"${key}"`, lastModified: new Date(0), metadata });
}

const settlingNext = () => world.queues.deliveries.map(({ body }) => JSON.parse(body).requestId).sort();

test('containers of a deprecated dataset go, and their request is settled again', async () => {
  const id = await delivered();
  expect(await world.withdraw()).toEqual([]);
  expect(await deprecateAndWithdraw()).toEqual([{ datasetId: 'EGAD1', found: 2, removed: 2 }]);
  expect([world.outboxNames(), await world.statesOf(id)]).toEqual([[], ['EGAF1: withdrawn', 'EGAF2: withdrawn']]);
  expect(await world.requestRow(id)).toMatchObject({ state: 'complete', revision: 2, settled_revision: 1 });
  await world.deliverAll();
  expect(await world.requestRow(id)).toMatchObject({ state: 'withdrawn', revision: 2, settled_revision: 2 });
  const [audit] = await world.database.sql(
    "select event, recipient, bytes, key_fingerprint is not null from data_out.export_log where file_id = 'EGAF1' and event = 'withdrawn'",
  );
  expect(audit).toEqual(['withdrawn', prefix, '224', 't']);
  expect(await world.withdraw()).toEqual([]);
});

test('only the newest event counts, and a dataset without one is left alone', async () => {
  await delivered();
  await world.event('EGAD1', 'deprecated');
  await world.event('EGAD1', 'released');
  expect(await world.withdraw()).toEqual([]);
  await world.database.sql('delete from sda.dataset_event_log');
  expect([await world.withdraw(), world.outboxNames().length]).toEqual([[], 2]);
});

describe('what the recipient also has through another dataset', () => {
  test.each([
    ['stays while that one is released', () => undefined, 0],
    ['goes when that one is deprecated, too', () => world.event('EGAD2', 'deprecated'), 1],
    ['goes when that one no longer has the file', () => world.database.sql('delete from sda.file_dataset where dataset_id = 2'), 1],
  ])('%s', async (_, happening, found) => {
    await delivered('EGAD1', ['EGAF1'], new Date(Date.now() - 1000));
    await delivered('EGAD2', ['EGAF1']);
    // The container is that of the older request again.
    hold(keyOf('EGAF1'));
    await happening();
    expect((await deprecateAndWithdraw()).map((each) => each.found)).toEqual(found === 0 ? [] : [found]);
    expect(world.outbox.objects.has(keyOf('EGAF1'))).toBe(found === 0);
  }); // biome-ignore format: one table
});

describe('an object under the key that is not meant stays', () => {
  test.each([
    ['of another dataset', () => hold(keyOf('EGAF1'), { requestId: '99999999-9999-4999-8999-999999999999', datasetId: 'EGAD9' }),
      { state: 'superseded', superseded_by: '99999999-9999-4999-8999-999999999999' }],
    ['of nobody', () =>
      world.outbox.objects.set(keyOf('EGAF1'), { bytes: Buffer.alloc(1), etag: '"x"', lastModified: new Date(0), metadata: {} }),
      { state: 'superseded', superseded_by: null }],
    // It was written after it was looked at.
    ['that replaced it meanwhile', () =>
      world.calls.after('outbox.head', () => hold(keyOf('EGAF1'))), { state: 'staged' }],
  ])('%s', async (_, happening, row) => {
    const id = await delivered('EGAD1', ['EGAF1']);
    happening();
    await deprecateAndWithdraw();
    expect([world.outboxNames(), await world.fileRow(id, 'EGAF1')]).toMatchObject([['EGAF1-EGAF1.bin.c4gh'], row]);
    expect([await world.requestRow(id), settlingNext()]).toMatchObject([{ revision: 1 }, []]);
  }); // biome-ignore format: one table
});

describe('a file that was given up', () => {
  beforeEach(async () => {
    await world.addDataset('EGAD1', ['EGAF1']);
  });

  async function givenUp(): Promise<string> {
    const id = world.request();
    await world.consume();
    // The container is visible, and no delivery can record it.
    world.calls.crashAt(5, 'before');
    await world.stage();
    world.deadLetters.push(...world.queues.smallFileExports.splice(0));
    await world.recordDeadLetter();
    await world.deliverAll();
    expect(await world.statesOf(id)).toEqual(['EGAF1: given_up no_answer']);
    return id;
  }

  test('with a container is withdrawn', async () => {
    const id = await givenUp();
    expect(await deprecateAndWithdraw()).toEqual([{ datasetId: 'EGAD1', found: 1, removed: 1 }]);
    expect([world.outboxNames(), await world.fileRow(id, 'EGAF1')]).toMatchObject([
      [],
      { state: 'withdrawn', reason: null, outbox_key: keyOf('EGAF1') },
    ]);
  });

  test('without one keeps its row, and its request its revision', async () => {
    const id = await givenUp();
    world.outbox.objects.clear();
    expect([await deprecateAndWithdraw(), await world.statesOf(id)]).toEqual([[], ['EGAF1: given_up no_answer']]);
    expect([await world.requestRow(id), settlingNext()]).toMatchObject([{ revision: 1 }, []]);
  });
});

test('all rows under the key go, also superseded ones, and each of their requests is settled again', async () => {
  const first = await delivered('EGAD1', ['EGAF1'], new Date(Date.now() - 2000));
  const second = await delivered();
  await world.database.sql(`update data_out.request_files set state = 'superseded', superseded_by = '${second}'
    where request_id = '${first}'`);
  await world.database.sql(
    `update data_out.requests set settled_at = now() - interval '33 days' where request_id = '${first}'`,
  );
  expect(await deprecateAndWithdraw()).toEqual([{ datasetId: 'EGAD1', found: 1, removed: 1 }]);
  expect(await world.fileRow(first, 'EGAF1')).toMatchObject({ state: 'withdrawn', superseded_by: null });
  expect([await world.statesOf(second), settlingNext()]).toEqual([['EGAF1: withdrawn'], [first, second].sort()]);
});

describe('containers of the direct API', () => {
  test('of the dataset go, with an audit row', async () => {
    hold(direct);
    hold(direct.replace('EGAF1', 'EGAF2'), { datasetId: 'EGAD2' });
    await world.database.sql("insert into sda.datasets (stable_id) values ('EGAD1')");
    expect(await deprecateAndWithdraw(1, false)).toEqual([{ datasetId: 'EGAD1', found: 1, removed: 0 }]);
    expect(await world.withdraw()).toEqual([{ datasetId: 'EGAD1', found: 1, removed: 1 }]);
    expect([...world.outbox.objects.keys()]).toEqual([direct.replace('EGAF1', 'EGAF2')]);
    expect(await world.audit()).toEqual(['withdrawn EGAF1']);
  });

  test('are not looked for when the dataset was deprecated long ago', async () => {
    hold(direct);
    await world.database.sql("insert into sda.datasets (stable_id) values ('EGAD1')");
    await world.event('EGAD1', 'deprecated');
    await world.database.sql("update sda.dataset_event_log set event_date = now() - interval '40 days'");
    expect([await world.withdraw(), world.outbox.objects.size]).toEqual([[], 1]);
  });
});

describe('a run', () => {
  test('that reports deletes nothing', async () => {
    const id = await delivered();
    expect(await deprecateAndWithdraw(1000, false)).toEqual([{ datasetId: 'EGAD1', found: 2, removed: 0 }]);
    expect([world.outboxNames().length, await world.statesOf(id)]).toEqual([2, ['EGAF1: staged', 'EGAF2: staged']]);
  });

  test('ends at its limit, or with its time, after the page that it has begun', async () => {
    await delivered();
    await delivered('EGAD2', ['EGAF3']);
    await world.event('EGAD2', 'deprecated');
    await world.event('EGAD1', 'deprecated');
    const options = { deletes: true, limit: Number.POSITIVE_INFINITY };
    expect(await withdrawDeprecated(world.removing, { ...options, isOver: () => true })).toEqual([]);
    // The newest comes first.
    expect(await world.withdraw(1)).toEqual([{ datasetId: 'EGAD1', found: 2, removed: 2 }]);
    expect(await world.withdraw(1)).toEqual([{ datasetId: 'EGAD2', found: 1, removed: 1 }]);
  });

  test('after a failure continues', async () => {
    const id = await delivered();
    world.calls.after('outbox.remove', () => Promise.reject(new Error('no answer')));
    await expect(deprecateAndWithdraw()).rejects.toThrow('no answer');
    await world.withdraw();
    expect([world.outboxNames(), await world.statesOf(id), settlingNext()]).toEqual([
      [],
      ['EGAF1: withdrawn', 'EGAF2: withdrawn'],
      [id],
    ]);
  });
});

test('a container that a newer request stages under the key meanwhile keeps its row, and the next run takes it', async () => {
  const older = await delivered('EGAD1', ['EGAF1']);
  const newer = world.request({ datasetId: 'EGAD1' }, { token: 'EGAD1', at: new Date(Date.now() + 1000) });
  await world.consume();
  world.calls.after('outbox.remove', () => {
    hold(keyOf('EGAF1'), { requestId: newer });
    return world.database.sql(`update data_out.request_files set state = 'staged', outbox_key = '${keyOf('EGAF1')}'
      where request_id = '${newer}'`);
  });
  await deprecateAndWithdraw();
  expect([await world.statesOf(older), await world.statesOf(newer)]).toEqual([['EGAF1: withdrawn'], ['EGAF1: staged']]);
  await world.withdraw();
  expect([world.outboxNames(), await world.statesOf(newer)]).toEqual([[], ['EGAF1: withdrawn']]);
});
