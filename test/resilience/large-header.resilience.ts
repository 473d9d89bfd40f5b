import { expect, test } from 'vitest';
import { findOrders } from '../../lib/service/export/stage/order.ts';
import { ExportPipeline } from '../helpers/export-pipeline.ts';

test('a header of the limit is read whole', async () => {
  const world = await ExportPipeline.open();
  await world.addDataset('EGAD1', ['EGAF1']);
  // Headers of a pipeline hardly compress. Of text that does, PostgreSQL unpacks all that is before a slice.
  await world.database.sql('alter table sda.files alter column header set storage external');
  await world.database.sql("update sda.files set header = repeat('0a', 1500000)");
  const requestId = world.request();
  await world.consume();
  const [order] = await findOrders(world.db, [{ requestId, fileId: 'EGAF1' }]);
  const file = order?.file.status === 'fulfilled' ? order.file.value : undefined;
  expect(Buffer.compare(file?.header ?? Buffer.alloc(0), Buffer.alloc(1_500_000, 0x0a))).toBe(0);
});
