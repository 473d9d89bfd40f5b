import { createHash } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import { parseKeySet } from '../../lib/client/api/delivery/key-set.ts';
import { verifyReceipt } from '../../lib/client/api/delivery/verify-receipt.ts';
import { combinedCrc, crcOf, emptyCrc, formatCrc } from '../../lib/common/crc64nvme.ts';
import type { MultipartUpload } from '../../lib/service/archive/ports.ts';
import type { ReceiptOutbox } from '../../lib/service/export/ports.ts';
import { finalizeDelivery } from '../../lib/service/export/receipt/finalize.ts';
import { endedFile, ReceiptWorld, requestId, stagedFile } from '../helpers/receipt-world.ts';
import { ReceiptSigner, receiptOf } from '../helpers/receipts.ts';

/** A receipt of the largest export, as the service writes it and as the client reads it. */

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
  expect(await finalizeDelivery(requestId, world.dependencies(outbox), ample)).toMatchObject({
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

test('a receipt of 100,000 files is read by the client', { timeout: 60_000 }, async () => {
  const files = Array.from({ length: 100_000 }, (_, index) => ({
    file_id: 'EGAF00000000001',
    size: 1124,
    plaintext_size: 972,
    plaintext_sha256: 'cd'.repeat(32),
    crc64nvme: 'rosUhgp5mIg=',
    header_sha256: 'ef'.repeat(32),
    name: `EGAF${String(index).padStart(11, '0')}-${'long-'.repeat(20)}.c4gh`,
    path: `/submitted/${'folder/'.repeat(20)}${index}.bam`,
  }));
  const signer = new ReceiptSigner();
  const keys = parseKeySet(JSON.stringify(signer.keySet), 'test');
  const jws = signer.sign(receiptOf(files));
  expect(jws.length).toBeGreaterThan(70_000_000);
  const receipt = await verifyReceipt(jws, keys);
  expect(receipt.files.length).toBe(100_000);
  expect(receipt.files.at(99_999)).toEqual(files.at(-1));
  expect(receipt.files.at(100_000)).toBeUndefined();
  expect(receipt.files.at(12_345)).toEqual(files[12_345]);
});
