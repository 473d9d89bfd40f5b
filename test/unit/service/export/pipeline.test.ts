import { expect, test } from 'vitest';
import { ExportPipeline } from '../../../helpers/export-pipeline.ts';

test('a request whose sender writes its id in capitals is the same request', async () => {
  const world = await ExportPipeline.open();
  await world.addDataset('EGAD1', ['EGAF1']);
  const id = 'abcdef00-1111-4111-8111-11111111abcd';
  world.request(undefined, { id: id.toUpperCase() });
  await world.deliverAll();
  expect(await world.requestRow(id)).toMatchObject({ state: 'complete', receipt: `EGAD1-${id}.delivery.jws` });
  expect(world.outboxNames()).toEqual(['EGAF1-EGAF1.bin.c4gh']);
});
