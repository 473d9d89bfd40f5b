import { beforeEach, expect, test } from 'vitest';
import type { ReceiptOutbox } from '../../../../../lib/service/export/ports.ts';
import { finalizeDelivery } from '../../../../../lib/service/export/receipt/finalize.ts';
import { ReceiptWorld, requestId, stagedFile } from '../../../../helpers/receipt-world.ts';

const ample = () => 900_000;
const idOf = (n: number) => `EGAF${String(n).padStart(11, '0')}`;

let world: ReceiptWorld;
beforeEach(() => {
  world = new ReceiptWorld();
});

test('a receipt in parts is whole, and another library accepts it', async () => {
  world.log.pageSize = 1000;
  world.log.rows = Array.from({ length: 16_000 }, (_, n) => stagedFile(idOf(n)));
  await finalizeDelivery(requestId, world.dependencies(), ample);
  expect(world.calls.names.filter((name) => name.startsWith('upload.'))).toEqual([
    'upload.uploadPart',
    'upload.uploadPart',
    'upload.complete',
  ]);
  const { payload } = await world.verified();
  expect(payload.files.map(({ file_id }) => file_id)).toEqual(world.log.rows.map(({ fileId }) => fileId));
  expect(payload.complete).toBe(true);
});

test('a receipt in parts takes the place of an older one, also after a conflict', async () => {
  world.log.pageSize = 1000;
  world.log.rows = Array.from({ length: 16_000 }, (_, n) => stagedFile(idOf(n)));
  const { outbox } = world;
  let heads = 0;
  const hidden: ReceiptOutbox = {
    // The older receipt appears after the first look.
    head: async (key) => {
      heads += 1;
      return heads === 1 ? undefined : outbox.head(key);
    },
    put: (...parameters) => outbox.put(...parameters),
    startUpload: async (key, metadata) => {
      await outbox.put(key, Buffer.from('older'), { ...metadata, generation: '0' });
      return outbox.startUpload(key, { ...metadata });
    },
  };
  await finalizeDelivery(requestId, world.dependencies(hidden), ample);
  expect((await world.verified()).payload.files).toHaveLength(16_000);
  expect(outbox.uploads.size).toBe(0);
});

test('a failure leaves no upload behind', async () => {
  world.log.pageSize = 1000;
  world.log.rows = Array.from({ length: 16_000 }, (_, n) => stagedFile(idOf(n)));
  world.log.onPage = (page) => {
    if (page === 15) throw new Error('the database is gone');
  };
  await expect(finalizeDelivery(requestId, world.dependencies(), ample)).rejects.toThrow('the database is gone');
  expect(world.calls.names.filter((name) => name === 'upload.uploadPart')).toHaveLength(1);
  expect([world.outbox.uploads.size, world.outbox.objects.size]).toEqual([0, 0]);
});
