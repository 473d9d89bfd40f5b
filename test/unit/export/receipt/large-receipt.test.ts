import { createHash } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import type { MultipartUpload } from '../../../../lib/archive/ports.ts';
import { combinedCrc, crcOf, emptyCrc, formatCrc } from '../../../../lib/contract/crc64nvme.ts';
import type { ReceiptOutbox } from '../../../../lib/export/receipt/ports.ts';
import { settleDelivery } from '../../../../lib/export/receipt/settle.ts';
import { endedFile, ReceiptWorld, requestId, stagedFile } from '../../../helpers/receipt-world.ts';

const MiB = 1024 * 1024;
const ample = () => 900_000;
const idOf = (n: number) => `EGAF${String(n).padStart(11, '0')}`;

let world: ReceiptWorld;
beforeEach(() => {
  world = new ReceiptWorld();
});

/** 100,000 files, of which each tenth is missing, made page by page. */
function manyFiles(missing: boolean): void {
  world.log.files = async function* () {
    for (let start = 0; start < 100_000; start += 250) {
      yield Array.from({ length: 250 }, (_, index) => {
        const id = idOf(start + index);
        return missing && index % 10 === 0 ? endedFile(id, 'given_up') : stagedFile(id);
      });
    }
  };
}

test.each([
  ['all delivered', false, 100_000],
  ['each tenth missing', true, 90_000],
])('100,000 files, %s, go through parts of some 5 MiB', async (_, missing, staged) => {
  manyFiles(missing);
  const sizes: number[] = [];
  const hash = createHash('sha256');
  let ending = '';
  let crc = emptyCrc;
  const told: (string | undefined)[] = [];
  const outbox: ReceiptOutbox = {
    head: async () => undefined,
    put: async () => Promise.reject(new Error('too large for one request')),
    startUpload: async () => {
      const upload: Partial<MultipartUpload> = {
        uploadPart: async (partNumber, bytes) => {
          expect(partNumber).toBe(sizes.length + 1);
          sizes.push(bytes.length);
          hash.update(bytes);
          ending = Buffer.from(bytes.subarray(-200)).toString('latin1');
          const part = await crcOf(bytes);
          crc = combinedCrc(crc, part, bytes.length);
          return { partNumber, etag: `"${partNumber}"`, crc64nvme: formatCrc(part) };
        },
        complete: async (parts, size, __, crc64nvme) => {
          told.push(crc64nvme);
          expect([parts.length, size]).toEqual([sizes.length, sizes.reduce((sum, one) => sum + one, 0)]);
          return 'written';
        },
        abort: async () => Promise.reject(new Error('an upload that was completed is not aborted')),
      };
      return upload as MultipartUpload;
    },
  };
  expect(await settleDelivery(requestId, world.dependencies(outbox), ample)).toMatchObject({
    state: missing ? 'incomplete' : 'complete',
    staged,
    missing: 100_000 - staged,
  });
  const total = sizes.reduce((sum, size) => sum + size, 0);
  expect(total).toBeGreaterThan(40 * MiB);
  expect(total).toBeLessThan(60 * MiB);
  for (const size of sizes.slice(0, -1)) expect(size).toBeGreaterThanOrEqual(5 * MiB);
  expect(Math.max(...sizes)).toBeLessThan(5.5 * MiB);
  expect(told).toEqual([formatCrc(crc)]);
  expect(ending.split('.').at(-1)).toHaveLength(86);
});

test('a receipt in parts is whole, and another library accepts it', async () => {
  world.log.pageSize = 1000;
  world.log.rows = Array.from({ length: 16_000 }, (_, n) => stagedFile(idOf(n)));
  await settleDelivery(requestId, world.dependencies(), ample);
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
  await settleDelivery(requestId, world.dependencies(hidden), ample);
  expect((await world.verified()).payload.files).toHaveLength(16_000);
  expect(outbox.uploads.size).toBe(0);
});

test('a failure leaves no upload behind', async () => {
  world.log.pageSize = 1000;
  world.log.rows = Array.from({ length: 16_000 }, (_, n) => stagedFile(idOf(n)));
  world.log.onPage = (page) => {
    if (page === 15) throw new Error('the database is gone');
  };
  await expect(settleDelivery(requestId, world.dependencies(), ample)).rejects.toThrow('the database is gone');
  expect(world.calls.names.filter((name) => name === 'upload.uploadPart')).toHaveLength(1);
  expect([world.outbox.uploads.size, world.outbox.objects.size]).toEqual([0, 0]);
});
