import { expect, test } from 'vitest';
import { ExportPipeline } from '../../../helpers/export-pipeline.ts';

const MiB = 1024 * 1024;

test('a dataset is delivered: rows, containers, receipt and audit trail', async () => {
  const world = await ExportPipeline.open();
  await world.addDataset('EGAD1', { EGAF1: Buffer.alloc(100, 1), EGAF2: Buffer.alloc(9 * MiB, 2) });
  const id = world.request();
  await world.deliverAll();
  expect(await world.statesOf(id)).toEqual(['EGAF1: staged', 'EGAF2: staged']);
  expect(await world.requestRow(id)).toMatchObject({
    ...{ state: 'complete', files: 2, staged: 2, revision: 1, settled_revision: 1 },
    receipt: `EGAD1-${id}.delivery.jws`,
  });
  expect(world.outboxNames()).toEqual(['EGAF1-EGAF1.bin.c4gh', 'EGAF2-EGAF2.bin.c4gh']);
  expect(world.outboxNames(true)).toEqual([`EGAD1-${id}.delivery.jws`]);
  expect(await world.audit()).toEqual(['accepted', 'staged EGAF2', 'staged EGAF1', 'settled complete']);
});

test('a request whose sender writes its id in capitals is the same request', async () => {
  const world = await ExportPipeline.open();
  await world.addDataset('EGAD1', ['EGAF1']);
  const id = 'abcdef00-1111-4111-8111-11111111abcd';
  world.request(undefined, { id: id.toUpperCase() });
  await world.deliverAll();
  expect(await world.requestRow(id)).toMatchObject({ state: 'complete', receipt: `EGAD1-${id}.delivery.jws` });
  expect(world.outboxNames()).toEqual(['EGAF1-EGAF1.bin.c4gh']);
});
